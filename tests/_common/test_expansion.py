"""A few megabytes that would expand to more than a gigabyte are refused before they fill the memory."""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sqlalchemy import insert, select, update

import driftbandits as db
from driftbandits._common import expansion
from driftbandits._common.expansion import inflated, read_npy, read_npz
from driftbandits._common.parquet import check_parquet_data, expanded_size
from driftbandits.errors import InputError
from driftbandits.instances.describe import build, describe, plain
from driftbandits.store import DamagedStoreError, sessions
from driftbandits.store.schema import folded, snapshots, views
from driftbandits.store.sessions import Snapshot
from stores import journal

HUGE = 1_300_000_000
ROOM = 200
"""Megabytes that all bombs together may take. Each alone would take 1,300."""

ATTACK = """
import sys
from pathlib import Path

import polars as pl

import driftbandits as db
from driftbandits.sweep.directory import read

def peak_megabytes():  # of this program alone: getrusage begins with the peak of the process that started it
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024

folder = Path(sys.argv[1])
db.Session(arms=["a", "b"]).snapshot()
pl.read_parquet(folder / "small.parquet")
before = peak_megabytes()
for file in sorted(folder.glob("*.session")):
    try:
        db.Session.restore(file.read_bytes())
    except db.InputError as error:
        print(file.name, error, sep=": ")
table = db.instances.table
loads = {"bomb.npz": table, "table.parquet": table, "bomb.csv": table, "sweep": read}
loads |= {"runs.parquet": db.Simulation.load, "log.parquet": db.replay, "log.csv": db.replay, "log.jsonl": db.replay}
for name, load in loads.items():
    try:
        load(folder / name)
    except db.InputError as error:
        print(name, error, sep=": ")
print(peak_megabytes() - before)
"""


def zeros(size: int, head: bytes = b"", wbits: int = 15) -> bytes:
    """``head`` and so many zeros, compressed. All parts are alike, so one is enough; only a checksum would be wrong."""
    stream, part = zlib.compressobj(wbits=wbits), bytes(10_000_000)
    begin = stream.compress(head) + stream.flush(zlib.Z_FULL_FLUSH)
    each = stream.compress(part) + stream.flush(zlib.Z_FULL_FLUSH)
    return begin + each * (size // len(part)) + stream.flush()


def zipped(members: dict[str, tuple[bytes, int, int]]) -> bytes:
    """An archive of members that are compressed already, with the sizes and checksums that are claimed."""
    parts, lists = b"", b""
    for name, (data, size, checksum) in members.items():
        about = struct.pack("<5H3I2H", 20, 0, 8, 0, 0, checksum, len(data), size, len(name) + 4, 0)
        tail = struct.pack("<3HII", 0, 0, 0, 0, len(parts))
        lists += b"PK\1\2" + struct.pack("<H", 20) + about + tail + name.encode() + b".npy"
        parts += b"PK\3\4" + about + name.encode() + b".npy" + data
    ends = struct.pack("<4H2IH", 0, 0, len(members), len(members), len(lists), len(parts), 0)
    return parts + lists + b"PK\5\6" + ends


def deflated(data: bytes) -> dict[str, tuple[bytes, int, int]]:
    """The members of a snapshot, compressed."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            plain, stream = archive.read(member), zlib.compressobj(wbits=-15)
            packed = stream.compress(plain) + stream.flush()
            found[member.filename.removesuffix(".npy")] = packed, len(plain), zlib.crc32(plain)
    return found


def header_of(array: Any, shape: tuple[int, ...]) -> bytes:
    """The head of a .npy file of such arrays with this shape."""
    stream = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(stream, described)
    return stream.getvalue()


def rewritten(data: bytes, **members: bytes) -> bytes:
    """A snapshot with other members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
        for member in old.infolist():
            new.writestr(member.filename, members.get(member.filename.removesuffix(".npy")) or old.read(member))
    return stream.getvalue()


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of them."""
    folder = tmp_path_factory.mktemp("bombs")
    good = db.Session(arms=["a", "b"]).snapshot()
    head = header_of(np.empty(0), (HUGE // 8,))
    packed = zeros(HUGE, head, wbits=-15)
    assert len(packed) < 2_000_000
    made = {
        "deflated": zipped(deflated(good) | {"open": (packed, len(head) + HUGE, 0)}),
        "lying": zipped(deflated(good) | {"open": (packed, 10, 0)}),
    }
    made["wide"] = rewritten(good, open=header_of(np.empty(0), (1 << 28,)))
    made["nothing"] = rewritten(good, open=header_of(np.empty(0, "V0"), (1 << 40,)))
    with np.load(io.BytesIO(good)) as arrays:
        found = json.loads(str(arrays["header"]))
    found["policy"] = describe(db.Oracle(np.zeros(3, np.int64)))
    claimed = {"shape": [HUGE // 8], "zlib": base64.b64encode(zeros(HUGE)).decode()}
    found["policy"]["fields"]["best_arms"] |= claimed
    stream = io.BytesIO()
    np.save(stream, np.array(json.dumps(found)))
    made["recipe"] = rewritten(good, header=stream.getvalue())
    for name, data in made.items():
        (folder / f"{name}.session").write_bytes(data)
    (folder / "bomb.npz").write_bytes(zipped({"means": (packed, len(head) + HUGE, 0)}))
    (folder / "bomb.csv").write_bytes(gzip.compress(b"0.5,0.5\n" * 1_000_000) * (HUGE // 8_000_000))
    row = b'{"step":0,"arm":0,"reward":0.5}\n'
    (folder / "log.jsonl").write_bytes(gzip.compress(row * 1_000_000) * (HUGE // 32_000_000))
    # polars would expand it. A comma in the head of the archive, as here, passes for a table's.
    heads = (io.BytesIO(), io.BytesIO())
    for stream, text in zip(heads, (b"step,arm,reward\n", b"0,0,0.5\n" * 1_000_000), strict=True):
        with gzip.GzipFile("a,b", "wb", fileobj=stream) as archive:
            archive.write(text)
    (folder / "log.csv").write_bytes(heads[0].getvalue() + heads[1].getvalue() * (HUGE // 8_000_000))
    pl.DataFrame({"a": [1]}).write_parquet(folder / "small.parquet")
    column = pl.LazyFrame({"red": np.zeros(2_000_000), "blue": np.zeros(2_000_000)})
    pl.concat([column] * (HUGE // 32_000_000 + 1)).sink_parquet(folder / "table.parquet")
    for name in ("runs.parquet", "log.parquet"):
        (folder / name).write_bytes((folder / "table.parquet").read_bytes())
    sweep = db.Sweep({"policy": "RoundRobin", "instance": "toggling", "horizon": 50}, runs=2)
    sweep.run(folder / "sweep", progress=False)
    (folder / "sweep" / "part-000007.parquet").write_bytes((folder / "table.parquet").read_bytes())
    return folder


def test_bombs_are_refused_and_the_memory_stays_small(bombs: Path) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("this system does not tell the peak of a process")
    done = subprocess.run([sys.executable, "-c", ATTACK, str(bombs)], capture_output=True, text=True, check=True)
    *said, grown = done.stdout.splitlines()
    refused = dict(line.split(": ", 1) for line in said)
    assert set(refused) == {
        *(f"{name}.session" for name in ("deflated", "lying", "nothing", "recipe", "wide")),
        *("bomb.npz", "table.parquet", "bomb.csv", "runs.parquet", "log.parquet", "sweep"),
        *("log.csv", "log.jsonl"),
    }
    size = (bombs / "deflated.session").stat().st_size
    assert f"more than the limit of {size:,}: restore takes" in refused["deflated.session"]
    assert "would expand to 1,300," in refused["deflated.session"]
    assert "damaged" in refused["lying.session"]
    assert "damaged" in refused["wide.session"]
    assert "damaged" in refused["nothing.session"]
    assert "would expand to 1,300,000,000 bytes, more than the limit of 536,870,912" in refused["recipe.session"]
    assert "would expand to 1,300,000,128 bytes" in refused["bomb.npz"]
    for name in ("bomb.csv", "log.csv", "log.jsonl"):
        assert "it is compressed: expand it first" in refused[name]
    for name in ("table.parquet", "runs.parquet", "log.parquet", "sweep"):
        assert "more than the limit of 536,870,912" in refused[name]
    assert float(grown) < ROOM


def test_a_bomb_in_a_store_costs_no_experiment_and_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "MOST_EXPANDED", 10_000_000)
    bomb = zeros(HUGE)
    with db.Store("sqlite://") as store:
        store.create("button", arms=["a", "b"], policy=db.UCB1())
        writer = store.writers.acquire("button")
        writer.session.tell(writer.session.ask(), 1.0)
        store.writers.append([(writer, journal(writer))])
        store.writers.save_snapshot(writer, Snapshot.of(writer.session))
        before = writer.session.snapshot()
        key = store.experiments.get("button").key
        with store.database.writing() as connection:
            connection.execute(update(snapshots).values(data=bomb))
            connection.execute(insert(views), {"experiment": key, "seq": 2, "data": bomb, "summary": None})
            assert connection.execute(select(snapshots.c.data)).scalars().all() == [bomb]
        writer = store.writers.reload(writer)
        assert writer.session.snapshot() == before, "the log is enough"
        assert store.views.find("button") is None
        told = store.maintenance.repair()
        assert any("the dashboard's view" in line for line in told)
        with store.database.writing() as connection:
            row = {"experiment": key, "seq": 2, "step": 1, "corrected": 0, "data": bomb}
            connection.execute(insert(folded), row)
            connection.execute(update(snapshots).values(data=bomb))
        with pytest.raises(DamagedStoreError, match="would expand to more than the limit of"):
            store.writers.reload(writer)


def test_old_snapshots_that_cannot_be_read_are_dropped_and_the_next_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SMALL", 0)
    with db.Store("sqlite://") as store:
        store.create("button", arms=["a", "b"], policy=db.UCB1())
        writer = store.writers.acquire("button")
        for number in range(5):
            writer.session.tell(writer.session.ask(), 1.0)
            store.writers.append([(writer, journal(writer))])
            store.writers.save_snapshot(writer, Snapshot.of(writer.session))
            if number == 0:
                with store.database.writing() as connection:
                    connection.execute(update(snapshots).values(data=b"damaged"))
        with store.database.reading() as connection:
            kept = connection.execute(select(snapshots.c.seq).order_by(snapshots.c.seq)).scalars().all()
    assert kept == [4, 6, 8, 10]


def test_what_is_inflated_is_what_was_compressed_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "MOST_EXPANDED", 1_000)
    assert inflated(zlib.compress(b"")) == b""
    assert inflated(zlib.compress(b"x" * 1_000)) == b"x" * 1_000
    noise = random.Random(0).randbytes(100_000)
    assert inflated(zlib.compress(noise)) == noise, "data that do not shrink may be of any size"
    with pytest.raises(InputError, match=r"would expand to more than the limit of 1,\d\d\d bytes|of 1,000 bytes"):
        inflated(zlib.compress(b"x" * 1_001))
    for wrong in (b"", b"junk", zlib.compress(noise)[:-1], zlib.compress(b"x" * 900)[:5]):
        with pytest.raises(InputError, match=r"damaged|cut short"):
            inflated(wrong)


def test_arrays_of_policies_are_limited_together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(expansion, "MOST_EXPANDED", 1_000)
    policy = db.Oracle(np.arange(125) % 2)
    assert np.array_equal(build(describe(policy)).best_arms, policy.best_arms)
    large = db.Oracle(np.zeros(10_000, np.int64))
    with pytest.raises(InputError, match=r"would expand to 80,000 bytes, more than the limit of \d,\d\d\d: keep"):
        build(describe(large))
    with pytest.raises(InputError, match="these arrays would expand to 80,000 bytes"):
        db.simulate(large, db.instances.stationary(10, (0.9, 0.3)), runs=1).save(tmp_path / "large.parquet")
    short = describe(policy)
    short["fields"]["best_arms"] |= {"shape": [100]}
    with pytest.raises(InputError, match="more than the limit of 800"):
        build(short)
    short["fields"]["best_arms"] |= {"shape": [120], "zlib": plain(np.zeros(110))["zlib"]}
    with pytest.raises(InputError, match="expand to 880 bytes, not to 960"):
        build(short)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.array("text"),
        np.array([], "U4"),
        np.zeros(3, np.dtype([("größe", "f8"), ("n", "i8")])),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.empty((0, 5)),
    ],
)
def test_arrays_are_read_as_numpy_reads_them(array: Any) -> None:
    stream = io.BytesIO()
    np.save(stream, array)
    found = read_npy(stream.getvalue())
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)
    for wrong in (stream.getvalue()[:-1] if array.size else b"", stream.getvalue() + b"0"):
        with pytest.raises(ValueError, match=r"an array of shape|magic|EOF"):
            read_npy(wrong)


def test_members_in_other_compressions_are_refused() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("means.npy", b"x")
    with pytest.raises(InputError, match="a way that numpy does not use"):
        read_npz(stream, "it", 100, "no")


def written(frame: pl.DataFrame, **options: Any) -> bytes:
    stream = io.BytesIO()
    frame.write_parquet(stream, **options)
    return stream.getvalue()


WRITERS: list[Callable[[pl.DataFrame], bytes]] = [
    written,
    lambda frame: written(frame, compression="snappy", data_page_size=500),
    lambda frame: written(frame, compression="uncompressed", row_group_size=100, statistics=False),
    lambda frame: written(frame, compression="gzip", metadata={"driftbandits": "{}"}),
]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("rows", [0, 1, 7, 5_000])
def test_the_size_of_parquet_is_at_least_what_polars_takes(write: Callable[[pl.DataFrame], bytes], rows: int) -> None:
    rng = np.random.default_rng(rows)
    frame = pl.DataFrame(
        {
            "step": np.arange(rows),
            "reward": rng.random(rows),
            "flag": rng.random(rows) < 0.5,
            "arm": pl.Series(rng.choice(["red", "a rather long name of an arm"], rows), dtype=pl.String),
            "regret": pl.Series([rng.random(3)] * rows, dtype=pl.List(pl.Float64)),
            "none": pl.Series([None] * rows, dtype=pl.Float64),
        }
    )
    size = expanded_size(write(frame))
    assert frame.estimated_size() <= size + 100
    assert size <= 12 * frame.estimated_size() + 2_000


def test_damaged_parquet_is_an_error_and_ends() -> None:
    data = written(pl.DataFrame({"red": [0.5, 0.25] * 50, "blue": ["x"] * 100}), data_page_size=100)
    random_ = random.Random(1)
    refused = 0
    for _ in range(3_000):
        wrong = bytearray(data)
        for _ in range(random_.randint(1, 4)):
            wrong[random_.randrange(4, len(wrong) - 4)] = random_.randrange(256)
        try:
            check_parquet_data(bytes(wrong), "it", "no")
        except InputError:
            refused += 1
    assert refused > 100
    for cut in range(len(data)):
        with pytest.raises(InputError):
            check_parquet_data(data[:cut], "it", "no")


def test_columns_that_overlap_are_refused() -> None:
    data = written(pl.DataFrame({"red": np.random.default_rng(0).random(50_000)}))
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    assert expanded_size(data) > 400_000
    # A file that holds the same footer behind fewer bytes claims more than it has.
    footer = data[start:]
    with pytest.raises(InputError, match="damaged"):
        check_parquet_data(b"PAR1" + bytes(100) + footer, "it", "no")


def test_what_an_instance_saves_it_can_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "MOST_EXPANDED", 10_000)
    monkeypatch.setattr("driftbandits.instances.base.MOST_EXPANDED", 10_000)
    still = db.instances.stationary(100_000, (0.9, 0.3))
    still.save(tmp_path / "still.npz")
    assert np.array_equal(db.instances.table(tmp_path / "still.npz").means, still.means)
    with pytest.raises(InputError, match=r"more than the limit of .*: save it as \.npz"):
        still.save(tmp_path / "still.parquet")
    assert not (tmp_path / "still.parquet").exists()
