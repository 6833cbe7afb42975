from __future__ import annotations

from nutchpy.fetcher.territory import Territory, TextSet


def same(host: str) -> str:
    return host


def test_a_text_set_knows_what_was_given_and_what_was_added() -> None:
    texts = TextSet(f"http://h/{n}" for n in range(1000))
    assert all(f"http://h/{n}" in texts for n in range(1000))
    assert "http://h/1000" not in texts
    texts.add("http://h/1000")
    assert "http://h/1000" in texts


def test_a_target_is_claimed_once() -> None:
    territory = Territory(TextSet(["http://a/1"]), TextSet(), TextSet(), (0, 1), same)
    assert territory.claim("http://a/1", "a", "b") == "known"
    assert territory.claim("http://a/2", "a", "b") is None
    assert territory.claim("http://a/2", "a", "b") == "known"
    territory.closed = True
    assert territory.claim("http://a/3", "a", "b") == "stopped"


def test_every_queue_is_one_process_s_own() -> None:
    own = [TextSet(["a", "b"]), TextSet(["c"])]
    both = [Territory(TextSet(), own[k], own[1 - k], (k, 2), same) for k in (0, 1)]
    for host in ["a", "b", "c", *(f"h{n}" for n in range(50))]:
        owners = [k for k in (0, 1) if both[k].claim(f"http://{host}/", host, "x") is None]
        assert len(owners) == 1, host
    assert both[0].claim("http://c/x", "c", "x") == "other_list"
    assert both[1].claim("http://c/x", "c", "x") is None


def test_a_host_may_always_redirect_to_itself() -> None:
    territory = Territory(TextSet(), TextSet(), TextSet(["a"]), (0, 2), same)
    assert territory.claim("http://a/1", "a", "b") == "other_list"
    assert territory.claim("http://a/1", "a", "a") is None


def test_with_queues_by_address_other_hosts_are_left_for_later() -> None:
    territory = Territory(TextSet(), TextSet(), TextSet(), (0, 2), None)
    assert territory.claim("http://a/1", "a", "b") == "other_list"
    assert Territory(TextSet(), TextSet(), TextSet(), (0, 1), None).claim("http://a/1", "a", "b") is None
