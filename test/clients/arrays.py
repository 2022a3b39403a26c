# SPDX-License-Identifier: Apache-2.0
# arrays.py zarr|lancedb|opendal: what programs of data people do with a store, each through its own client of Azure Blob. ENDPOINT, ACCOUNT,
# KEY and CONNECTION come by the environment; the container has the program's name.
import os
import sys

ENDPOINT, ACCOUNT, KEY, CONNECTION = (os.environ[name] for name in ("ENDPOINT", "ACCOUNT", "KEY", "CONNECTION"))


def use_zarr():
    """An array in chunks through fsspec and adlfs (the Python SDK): written whole and in part, read, grown, walked."""
    import numpy
    import zarr

    options = {"connection_string": CONNECTION}
    root = zarr.open_group("abfs://zarr/group", mode="w", storage_options=options)
    want = numpy.arange(1_000_000, dtype="i4").reshape(1000, 1000)
    array = root.create_array("numbers", shape=want.shape, chunks=(100, 250), dtype=want.dtype)
    array[:] = want
    array[10:20, 30:40] = -1
    want[10:20, 30:40] = -1
    array.resize((1100, 1000))
    array.attrs["unit"] = "m"
    again = zarr.open_group("abfs://zarr/group", mode="r", storage_options=options)
    assert list(again.array_keys()) == ["numbers"]
    assert numpy.array_equal(again["numbers"][:1000], want)
    assert again["numbers"].shape == (1100, 1000) and not again["numbers"][1000:].any()
    assert again["numbers"].attrs["unit"] == "m"


def use_lancedb():
    """A table through Rust's object_store: commits by conditional writes; appended by writers that race, updated, deleted, searched."""
    import threading

    import lancedb

    options = {"account_name": ACCOUNT, "account_key": KEY, "azure_storage_endpoint": ENDPOINT, "allow_http": "true"}
    rows = lambda base: [{"id": base + i, "vector": [float(base + i), 1.0], "text": f"row {base + i}"} for i in range(100)]
    table = lancedb.connect("az://lancedb/db", storage_options=options).create_table("t", rows(0))
    failures = []

    def append(n):
        try:
            lancedb.connect("az://lancedb/db", storage_options=options).open_table("t").add(rows(100 * n))
        except Exception as error:  # told below
            failures.append(error)

    writers = [threading.Thread(target=append, args=(n,)) for n in range(1, 5)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not failures, failures
    table.checkout_latest()
    assert table.count_rows() == 500, table.count_rows()
    table.update(where="id = 7", values={"text": "changed"})
    table.delete("id >= 490")
    found = lancedb.connect("az://lancedb/db", storage_options=options).open_table("t")
    assert found.count_rows() == 490
    assert found.search([7.0, 1.0]).limit(1).to_list()[0]["text"] == "changed"


def use_opendal():
    """Rust's OpenDAL: write, conditional write, ranges, blocks, list, copy, rename by copy, delete."""
    import opendal

    operator = opendal.Operator("azblob", container="opendal", root="/r", endpoint=ENDPOINT, account_name=ACCOUNT, account_key=KEY)
    large = os.urandom(9_000_000)
    operator.write("a/large", large, chunk=1 << 20)
    assert operator.read("a/large") == large
    operator.write("a/small", b"hello")
    with operator.open("a/small", "rb") as file:
        file.seek(1)
        assert file.read(3) == b"ell"
    assert operator.stat("a/large").content_length == len(large)
    operator.copy("a/small", "b/copy")
    assert sorted(entry.path for entry in operator.scan("")) == ["a/large", "a/small", "b/copy"]
    assert sorted(entry.path for entry in operator.list("")) == ["a/", "b/"]
    operator.delete("a/small")
    assert not operator.exists("a/small")
    operator.remove_all("")
    assert list(operator.scan("")) == []


{"zarr": use_zarr, "lancedb": use_lancedb, "opendal": use_opendal}[sys.argv[1]]()
