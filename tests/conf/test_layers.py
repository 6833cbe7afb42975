"""Layers over the defaults: precedence, errors that name the place, per-host tables, rule files."""

import pickle
from pathlib import Path

import pytest

from nutchpy.conf.layers import Conf, defaults, load
from nutchpy.core.errors import ConfigError


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No ./conf of the folder the tests are started in."""
    monkeypatch.chdir(tmp_path)


def site(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nutchpy-site.toml").write_text(text, encoding="utf-8")
    return folder


def test_each_layer_lies_over_the_one_before(tmp_path: Path) -> None:
    folder = site(tmp_path / "my", '[http]\n"redirect.max" = 1\n')
    env = {"NUTCHPY_CONF_DIR": str(folder), "NUTCHPY_HTTP_REDIRECT_MAX": "2"}
    conf = load(None, None, env, ["http.redirect.max=3"])
    assert conf.origin("http.redirect.max") == [
        ("defaults", 0),
        (str(folder / "nutchpy-site.toml"), 1),
        ("environment", 2),
        ("-D", 3),
    ]
    assert conf.integer("http.redirect.max") == 3
    assert conf.with_values({"http.redirect.max": "4"}).integer("http.redirect.max") == 4
    assert conf.conf_dir == folder


def test_falsy_values_override(tmp_path: Path) -> None:
    folder = site(tmp_path / "my", '[parser]\n"store.text" = false\n[http]\n"accept.language" = ""\n')
    conf = load(folder, None, {}, ["http.timeout=0"])
    assert conf.flag("parser.store.text") is False
    assert conf.text("http.accept.language") == ""
    assert conf.integer("http.timeout") == 0


def test_folder_is_the_environments_else_the_crawls_else_the_current_ones(tmp_path: Path) -> None:
    asked = site(tmp_path / "asked", "")
    crawls = site(tmp_path / "crawl" / "conf", "")
    assert load(None, None, {}, []).conf_dir is None
    site(tmp_path / "conf", "")
    assert load(None, None, {}, []).conf_dir == Path("conf")
    assert load(None, tmp_path / "crawl", {}, []).conf_dir == crawls
    assert load(None, tmp_path / "crawl", {"NUTCHPY_CONF_DIR": str(asked)}, []).conf_dir == asked
    with pytest.raises(ConfigError, match="missing does not exist"):
        load(None, None, {"NUTCHPY_CONF_DIR": str(tmp_path / "missing")}, [])


def test_unknown_names_stop_in_every_layer_with_a_suggestion(tmp_path: Path) -> None:
    folder = site(tmp_path / "my", '[http]\n"redirct.max" = 1\n')
    with pytest.raises(ConfigError, match=r"'http.redirct.max'; did you mean 'http.redirect.max'\? \(.*site\.toml\)"):
        load(folder, None, {}, [])
    with pytest.raises(ConfigError, match="NUTCHPY_HTTP_REDIRCT_MAX names no setting; did you mean NUTCHPY_HTTP_REDI"):
        load(None, None, {"NUTCHPY_HTTP_REDIRCT_MAX": "1"}, [])
    with pytest.raises(ConfigError, match=r"did you mean 'http.redirect.max'\? \(-D\)"):
        load(None, None, {}, ["redirect.max=1"])
    with pytest.raises(ConfigError, match="did you mean 'http.timeout'"):
        defaults()["http.timeot"]
    with pytest.raises(ConfigError, match="did you mean 'http.timeout'"):
        defaults().origin("http.timeot")


def test_wrong_types_name_setting_and_file(tmp_path: Path) -> None:
    folder = site(tmp_path / "my", '[http]\n"redirect.max" = "2"\n')
    with pytest.raises(ConfigError, match=r"http.redirect.max in .*nutchpy-site.toml must be a whole number, not '2'"):
        load(folder, None, {}, [])
    with pytest.raises(ConfigError, match="http.timeout in environment must be a whole number, not 'soon'"):
        load(None, None, {"NUTCHPY_HTTP_TIMEOUT": "soon"}, [])


@pytest.mark.parametrize("override", ["http.timeout", "=5", ""])
def test_an_override_is_name_equals_value(override: str) -> None:
    with pytest.raises(ConfigError, match="-D takes name=value"):
        load(None, None, {}, [override])


def test_an_override_may_hold_equals_signs_and_be_empty() -> None:
    conf = load(None, None, {}, ["generate.expr=status = 'db_gone'", "http.accept="])
    assert conf.text("generate.expr") == "status = 'db_gone'"
    assert conf.text("http.accept") == ""


def test_other_variables_with_our_prefix_are_left_alone() -> None:
    env = {"NUTCHPY_VENV": "/x", "NUTCHPY_CORPORA": "/y", "NUTCH_HOME": "/z", "PATH": "/bin"}
    assert load(None, None, env, []) == defaults()


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"[http\n", "cannot be read"), (b"\xff\xfe=1", "cannot be read"), (b"[http]\ntimeout = 1979-05-27\n", "whole")],
)
def test_a_broken_site_file_is_named(tmp_path: Path, content: bytes, told: str) -> None:
    (site(tmp_path / "my", "") / "nutchpy-site.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=told) as caught:
        load(tmp_path / "my", None, {}, [])
    assert "nutchpy-site.toml" in str(caught.value)


def test_a_site_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (site(tmp_path / "my", "") / "nutchpy-site.toml").write_bytes(b'\xef\xbb\xbf[http]\n"timeout" = 7\n')
    assert load(tmp_path / "my", None, {}, []).integer("http.timeout") == 7


def test_references_follow_the_setting_they_name() -> None:
    conf = defaults().with_values({"fetcher.server.delay": "2"})
    assert conf.number("fetcher.min.crawl.delay") == 2.0
    assert conf.number("fetcher.exceptions.per.queue.delay") == 2.0
    assert conf.with_values({"fetcher.min.crawl.delay": 1}).number("fetcher.min.crawl.delay") == 1.0


def test_a_reference_must_lead_to_the_right_type() -> None:
    with pytest.raises(ConfigError, match="http.timeout in -D, resolved, must be a whole number"):
        load(None, None, {}, ["http.timeout=${http.accept}"])


def test_typed_reads_refuse_another_type() -> None:
    with pytest.raises(TypeError, match="http.timeout is int, read as text"):
        defaults().text("http.timeout")
    with pytest.raises(TypeError):
        defaults().integer("parser.store.text")


def test_a_list_read_is_the_readers_own() -> None:
    before = defaults().words("urlfilter.order")
    defaults().words("urlfilter.order").append("mine")
    assert defaults().words("urlfilter.order") == before != []


HOSTS = """
[fetcher]
"server.delay" = 3
[host."example.org"]
"fetcher.server.delay" = 10.0
"http.agent.name" = "one"
[host."Slow.example.org".fetcher]
"server.delay" = 60
[host."bücher.example"]
"fetcher.server.delay" = 1
"""


@pytest.mark.parametrize(
    ("host", "delay", "agent"),
    [
        ("example.com", 0.5, ""),
        ("example.org", 10.0, "one"),
        ("www.example.org", 10.0, "one"),
        ("slow.example.org", 60.0, "one"),
        ("notexample.org", 0.5, ""),
        ("xn--bcher-kva.example", 1.0, ""),
    ],
)
def test_host_tables_lie_over_everything_parents_first(tmp_path: Path, host: str, delay: float, agent: str) -> None:
    conf = load(site(tmp_path / "my", HOSTS), None, {}, ["fetcher.server.delay=0.5"]).for_host(host)
    assert conf.number("fetcher.server.delay") == delay
    assert conf.number("fetcher.min.crawl.delay") == delay
    assert conf.text("http.agent.name") == agent


def test_a_conf_without_host_tables_is_every_hosts() -> None:
    conf = defaults()
    assert conf.for_host("example.org") is conf


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[host."a.b"]\n"fetcher.server.dely" = 1\n', r'did you mean .*\[host\."a\.b"\] of '),
        ('[host]\n"a.b" = 1\n', "holds tables only"),
        ('host = "a.b"\n', "holds tables only"),
        ("[host.example.org.fetcher]\nserver.delay = 1\n", r"unknown setting 'org\.fetcher"),
    ],
)
def test_a_wrong_host_table_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load(site(tmp_path / "my", text), None, {}, [])


def test_a_conf_pickles_whole(tmp_path: Path) -> None:
    conf = load(site(tmp_path / "my", HOSTS), None, {}, ["http.timeout=1"])
    copy: Conf = pickle.loads(pickle.dumps(conf))
    assert copy == conf
    assert copy.for_host("example.org").number("fetcher.server.delay") == 10.0


def test_a_plugins_own_defaults_join_when_it_is_enabled() -> None:
    def of_plugins(conf: Conf) -> dict[str, dict[str, object]]:
        return {"urlfilter mine": {"urlfilter": {"mine.limit": 3}}} if "mine" in conf.words("urlfilter.order") else {}

    conf = load(None, None, {}, ["urlfilter.order=regex,mine", "urlfilter.mine.limit=4"], of_plugins)
    assert conf.integer("urlfilter.mine.limit") == 4
    assert conf.origin("urlfilter.mine.limit")[0] == ("defaults of plugin urlfilter mine", 3)
    with pytest.raises(ConfigError, match=r"urlfilter\.mine\.limit"):
        load(None, None, {}, ["urlfilter.mine.limit=4"], of_plugins)
    with pytest.raises(ConfigError, match="sets http.timeout, which is not its own"):
        load(None, None, {}, [], lambda _: {"urlfilter mine": {"http": {"timeout": 1}}})
