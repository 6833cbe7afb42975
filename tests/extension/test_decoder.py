from __future__ import annotations

import gzip
import random
import time
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from nutchpy.extension.decoder import BodyDecoder, decode

TEXT = "".join(f"line {number}: {random.Random(number).random()} ü\n" for number in range(2000)).encode()


def raw_deflate(data: bytes) -> bytes:
    deflate = zlib.compressobj(wbits=-15)
    return deflate.compress(data) + deflate.flush()


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "raw": raw_deflate,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
CODED = {name: encode(TEXT) for name, encode in CODERS.items()}
LABELS = {"raw": "deflate"}


def run(body: bytes, encoding: str, step: int, limit: int = -1, ratio: int = 0) -> tuple[bytes, str | None]:
    decoder = BodyDecoder([encoding], limit, ratio)
    pieces = [decoder.feed(body[at : at + step]) for at in range(0, len(body), step)]
    last, reason = decoder.finish()
    return b"".join([*pieces, last]), reason


@pytest.mark.parametrize("step", [1, 7, 1 << 14])
@pytest.mark.parametrize("coder", CODERS)
def test_every_coding_whole(coder: str, step: int) -> None:
    assert run(CODERS[coder](TEXT), LABELS.get(coder, coder), step) == (TEXT, None)


@pytest.mark.parametrize("coder", CODERS)
def test_short_and_empty_bodies(coder: str) -> None:
    label = LABELS.get(coder, coder)
    assert decode(CODERS[coder](b"hi"), label) == (b"hi", None)
    assert decode(CODERS[coder](b""), label) == (b"", None)
    assert decode(b"", label) == (b"", None)


@pytest.mark.parametrize("encoding", ["", "identity", "none", "IDENTITY, identity"])
def test_no_coding(encoding: str) -> None:
    assert decode(TEXT, encoding) == (TEXT, None)


@pytest.mark.parametrize("label", ["gzip", "x-gzip", " GZIP ", "identity, gzip"])
def test_labels(label: str) -> None:
    assert decode(gzip.compress(TEXT), label) == (TEXT, None)


@pytest.mark.parametrize("step", [3, 1 << 14])
def test_chains(step: int) -> None:
    body = brotli.compress(zlib.compress(gzip.compress(TEXT)))
    assert run(body, "gzip, deflate, br", step) == (TEXT, None)


def test_unknown_coding_stops_the_chain() -> None:
    decoder = BodyDecoder(["gzip", "sdch, br"])
    assert decoder.feed(brotli.compress(b"still coded")) + decoder.finish()[0] == b"still coded"
    assert decoder.remaining == ["gzip", "sdch"]


def test_a_long_chain_is_not_followed_to_its_end() -> None:
    assert len(BodyDecoder(["gzip, " * 100 + "gzip"]).remaining) == 96


@pytest.mark.parametrize("trailing", [b"", b"\0" * 100, b"\n", b"trailing junk", gzip.compress(b"", mtime=0)])
def test_gzip_members_and_what_trails_them(trailing: bytes) -> None:
    body = gzip.compress(TEXT) + b"\0\0" + gzip.compress(b"more") + trailing
    assert run(body, "gzip", 1) == (TEXT + b"more", None)
    assert run(body, "gzip", 1 << 14) == (TEXT + b"more", None)


@pytest.mark.parametrize("coder", ["deflate", "br", "zstd"])
def test_junk_after_the_end_is_passed_over(coder: str) -> None:
    body = CODERS[coder](TEXT) + b"some junk"
    assert run(body, coder, 1 << 14)[0] == TEXT
    assert run(body, coder, 1) == (TEXT, None)


def test_zstd_frames_and_skippable_frames() -> None:
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    body = skippable + zstandard.compress(TEXT) + skippable + zstandard.compress(b"more")
    assert decode(body, "zstd") == (TEXT + b"more", None)


@pytest.mark.parametrize("coder", CODERS)
@pytest.mark.parametrize("step", [1, 1 << 14])
def test_cut_data_gives_what_came(coder: str, step: int) -> None:
    coded = CODERS[coder](TEXT)
    body, reason = run(coded[: len(coded) // 2], LABELS.get(coder, coder), step)
    assert reason == "disconnect"
    assert TEXT.startswith(body)
    assert coder == "zstd" or len(body) > len(TEXT) // 4


@pytest.mark.parametrize("coder", ["gzip", "deflate", "raw", "br"])
def test_damage_costs_what_lies_behind_it(coder: str) -> None:
    coded = bytearray(CODERS[coder](TEXT))
    middle = len(coded) // 2
    coded[middle : middle + 300] = random.Random(1).randbytes(300)
    one, reason = run(bytes(coded), LABELS.get(coder, coder), 1 << 14)
    assert reason in ("bad_encoding", "disconnect")
    assert one[: len(TEXT) // 4] == TEXT[: len(TEXT) // 4]
    assert run(bytes(coded), LABELS.get(coder, coder), 1) == (one, reason)


def test_wrong_checksum_is_no_loss() -> None:
    coded = bytearray(gzip.compress(TEXT))
    coded[-6] ^= 255
    assert decode(bytes(coded), "gzip") == (TEXT, None)


@pytest.mark.parametrize("label", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("body", [TEXT, b"short text, as is", b"\xef\xbb\xbf<html>with a byte order mark"])
def test_text_with_a_coding_label_is_text(label: str, body: bytes) -> None:
    assert run(body, label, 5) == (body, None)


@pytest.mark.parametrize("label", ["deflate", "br", "zstd"])
def test_gzip_is_told_by_its_magic(label: str) -> None:
    assert decode(gzip.compress(TEXT), label) == (TEXT, None)


def test_data_without_the_magic_of_its_label_is_not_coded() -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    assert decode(picture, "gzip") == (picture, None)
    assert decode(picture, "zstd") == (picture, None)
    assert decode(zlib.compress(TEXT), "gzip") == (TEXT, None)


def test_damage_from_the_first_byte_gives_nothing() -> None:
    assert decode(gzip.compress(TEXT)[:10] + b"\xff" * 50, "gzip") == (b"", "bad_encoding")
    assert decode(b"\xff" * 50, "br") == (b"", "bad_encoding")


def test_limit_is_exact() -> None:
    for coder in CODERS:
        label = LABELS.get(coder, coder)
        assert decode(CODERS[coder](TEXT), label, len(TEXT)) == (TEXT, None)
        assert decode(CODERS[coder](TEXT), label, len(TEXT) - 1) == (TEXT[:-1], "length")
        assert decode(CODERS[coder](TEXT), label, 0) == (b"", "length")
    assert decode(TEXT, "", 10) == (TEXT[:10], "length")


def test_nothing_is_taken_after_a_stop() -> None:
    decoder = BodyDecoder([], 3)
    assert (decoder.feed(b"abcd"), decoder.stopped) == (b"abc", "length")
    assert decoder.feed(b"efg") == b""
    assert (decoder.decoded_bytes, decoder.finish()) == (3, (b"", "length"))


@pytest.mark.parametrize("coder", CODERS)
def test_bombs_stop_while_they_unfold(coder: str) -> None:
    bomb = CODERS[coder](bytes(20_000_000))
    tracemalloc.start()
    body, reason = run(bomb, LABELS.get(coder, coder), 1 << 14, limit=100_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(body), reason) == (100_000, "length")
    assert peak < 20_000_000


def test_zstd_bomb_of_tiny_blocks() -> None:
    block = (1 << 1) | (131072 << 3)  # run-length block: 4 bytes for 128 KiB
    frame = b"\x28\xb5\x2f\xfd\x00\x58" + (block.to_bytes(3, "little") + b"a") * 4000
    tracemalloc.start()
    body, reason = decode(frame, "zstd", 1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(body), reason) == (1_000_000, "length")
    assert peak < 100_000_000


def test_ratio_tells_a_bomb_when_there_is_no_limit() -> None:
    bomb = brotli.compress(bytes(20_000_000))
    body, reason = run(bomb, "br", 1 << 14, ratio=500)
    assert reason == "ratio"
    assert 900_000 < len(body) < 1 << 21
    assert decode(TEXT, "", -1) == (TEXT, None)


def test_a_bomb_inside_a_chain_stops_though_it_gives_no_output() -> None:
    inner = gzip.compress(b"x") + bytes(100_000_000)
    assert run(gzip.compress(inner), "gzip, gzip", 1 << 14, ratio=500)[1] == "ratio"


def test_endless_coded_data_without_output_stops() -> None:
    assert run(gzip.compress(b"x") + b"junk" * 10_000, "gzip", 1000, limit=1000) == (b"x", "length")


def test_zstd_window_beyond_8_mib_is_refused() -> None:
    frame = b"\x28\xb5\x2f\xfd\x00\xa0" + bytes(20)
    assert decode(frame, "zstd") == (b"", "bad_encoding")


@settings(max_examples=60)
@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, br"]), st.integers(1, 20))
def test_total_and_the_same_however_it_is_cut_up(body: bytes, encoding: str, step: int) -> None:
    whole, _ = decode(body, encoding, 10_000)
    assert run(body, encoding, step, 10_000)[0] == whole
    assert len(whole) <= 10_000


@settings(max_examples=60)
@given(st.binary(max_size=100), st.sampled_from(sorted(CODERS)))
def test_total_behind_a_true_start(junk: bytes, coder: str) -> None:
    coded = CODED[coder][:1000]
    body, _ = decode(coded + junk, LABELS.get(coder, coder), 1_000_000)
    assert body[:100] == (TEXT[:100] if body else b"")


def test_hostile_input_is_fast() -> None:
    start = time.process_time()
    decode(gzip.compress(b"") * 50_000, "gzip")
    decode(gzip.compress(TEXT * 20)[:-500] + b"\xff" * 1_000_000, "gzip")
    assert time.process_time() - start < 3
