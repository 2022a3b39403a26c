# SPDX-License-Identifier: Apache-2.0
# The suite of test/sdks (cases.mjs names the cases) with the official Python libraries, newest from PyPI. A line a case: "ok NAME" or
# "not ok NAME: why". AZURE_STORAGE_CONNECTION_STRING names an empty server, ZAFFRE_ADMIN its admin listener, whose clock is moved.
import json
import os
import sys
import threading
import traceback
import urllib.request
from datetime import datetime, timedelta, timezone

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.data.tables import TableServiceClient, UpdateMode
from azure.storage.blob import (BlobBlock, BlobClient, BlobServiceClient, ContainerClient, ContainerSasPermissions, ContentSettings,
                                generate_container_sas)
from azure.storage.fileshare import ShareServiceClient
from azure.storage.queue import QueueServiceClient

CONNECTION = os.environ["AZURE_STORAGE_CONNECTION_STRING"]
ADMIN = os.environ["ZAFFRE_ADMIN"].rstrip("/")
CLIENTS = 8
ROUNDS = 10

blobs = BlobServiceClient.from_connection_string(CONNECTION)
queues = QueueServiceClient.from_connection_string(CONNECTION)
tables = TableServiceClient.from_connection_string(CONNECTION)
shares = ShareServiceClient.from_connection_string(CONNECTION)


def equal(got, want):
    assert got == want, f"{got!r} instead of {want!r}"


def refused(status, code, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except HttpResponseError as error:
        got = getattr(error, "error_code", None)
        if got is None:  # the tables library tells it in some operations only
            got = json.loads(error.response.text())["odata.error"]["code"]
        equal((error.status_code, getattr(got, "value", got)), (status, code))
        return error
    raise AssertionError(f"{code} was expected, and it succeeded")


def advance(seconds):
    urllib.request.urlopen(urllib.request.Request(f"{ADMIN}/test/clock?advance={seconds}", method="POST")).read()


def race(work):
    """Runs work(number) in CLIENTS threads at once; what one of them raises is raised here."""
    failures = []
    start = threading.Barrier(CLIENTS)

    def run(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:  # told to the case, which fails
            failures.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


# ---- blobs ----

def blob_everyday():
    container = blobs.create_container("everyday", metadata={"purpose": "test"})
    equal(container.get_container_properties().metadata, {"purpose": "test"})
    blob = container.get_blob_client("a/hello.txt")
    blob.upload_blob(b"Hello", metadata={"k": "v"}, content_settings=ContentSettings(content_type="text/plain"), tags={"team": "red"})
    equal(blob.download_blob().readall(), b"Hello")
    equal(blob.download_blob(offset=1, length=3).readall(), b"ell")
    properties = blob.get_blob_properties()
    equal((properties.size, properties.content_settings.content_type, properties.metadata), (5, "text/plain", {"k": "v"}))
    blob.set_blob_metadata({"k": "w"})
    blob.set_http_headers(ContentSettings(content_type="text/css"))
    blob.set_blob_tags({"team": "blue"})
    equal(blob.get_blob_tags(), {"team": "blue"})
    equal([b.name for b in blobs.find_blobs_by_tags("\"team\"='blue'")], ["a/hello.txt"])
    blocks = container.get_blob_client("blocks")
    for name in ("1", "2", "3"):
        blocks.stage_block(name, name.encode() * 1000)
    blocks.commit_block_list([BlobBlock("3"), BlobBlock("1")])
    equal(blocks.download_blob().readall(), b"3" * 1000 + b"1" * 1000)
    equal([len(part) for part in blocks.get_block_list("all")], [2, 0])
    large = os.urandom(9_000_000)
    container.upload_blob("large", large, max_concurrency=4)
    equal(container.download_blob("large", max_concurrency=4).readall(), large)
    log = container.get_blob_client("log")
    log.create_append_blob()
    log.append_block(b"one,")
    equal(log.append_block(b"two", appendpos_condition=4)["blob_append_offset"], "4")
    refused(412, "AppendPositionConditionNotMet", log.append_block, b"x", appendpos_condition=4)
    equal(log.download_blob().readall(), b"one,two")
    disk = container.get_blob_client("disk")
    disk.create_page_blob(4096)
    disk.upload_page(b"p" * 512, 1024, 512)
    equal([(r["start"], r["end"]) for r in disk.get_page_ranges()[0]], [(1024, 1535)])
    snapshot = blob.create_snapshot()["snapshot"]
    blob.upload_blob(b"Changed", overwrite=True)
    equal(container.get_blob_client("a/hello.txt", snapshot=snapshot).download_blob().readall(), b"Hello")
    copy = container.get_blob_client("copy")
    equal(copy.start_copy_from_url(blob.url)["copy_status"], "success")
    equal(copy.download_blob().readall(), b"Changed")
    equal([b.name for b in container.list_blobs()], ["a/hello.txt", "blocks", "copy", "disk", "large", "log"])
    equal([b.name for b in container.walk_blobs()], ["a/", "blocks", "copy", "disk", "large", "log"])
    pages = list(container.list_blobs(results_per_page=2).by_page())
    equal([len(list(page)) for page in pages], [2, 2, 2])
    answers = container.delete_blobs("copy", "disk")
    equal([a.status_code for a in answers], [202, 202])
    refused(409, "SnapshotsPresent", blob.delete_blob)
    blob.delete_blob(delete_snapshots="include")
    refused(404, "BlobNotFound", blob.get_blob_properties)
    container.delete_container()
    equal([c.name for c in blobs.list_containers("everyday")], [])


def blob_optimistic():
    container = blobs.create_container("optimistic")
    blob = container.get_blob_client("b")
    first = blob.upload_blob(b"one")["etag"]
    third_party = blob.upload_blob(b"two", overwrite=True)["etag"]
    assert first != third_party
    same = {"match_condition": MatchConditions.IfNotModified}
    refused(412, "ConditionNotMet", blob.upload_blob, b"three", overwrite=True, etag=first, **same)
    equal(blob.download_blob().readall(), b"two")
    mine = blob.upload_blob(b"three", overwrite=True, etag=third_party, **same)["etag"]
    refused(409, "BlobAlreadyExists", blob.upload_blob, b"four")
    refused(412, "ConditionNotMet", blob.set_blob_metadata, {"a": "b"}, etag=first, **same)
    refused(304, "ConditionNotMet", blob.download_blob, etag=mine, match_condition=MatchConditions.IfModified)
    refused(412, "ConditionNotMet", blob.delete_blob, etag=first, **same)
    refused(412, "ConditionNotMet", blob.set_blob_metadata, {"a": "b"}, if_unmodified_since=datetime(2020, 1, 1, tzinfo=timezone.utc))
    blob.delete_blob(etag=mine, **same)


def blob_pessimistic():
    container = blobs.create_container("pessimistic")
    blob = container.get_blob_client("b")
    blob.upload_blob(b"one")
    before = blob.get_blob_properties().etag
    lease = blob.acquire_lease(15)
    equal(blob.get_blob_properties().etag, before)
    refused(412, "LeaseIdMissing", blob.upload_blob, b"two", overwrite=True)
    refused(412, "LeaseIdMismatchWithBlobOperation", blob.upload_blob, b"two", overwrite=True, lease="6fa459ea-ee8a-3ca4-894e-db77e160355e")
    refused(409, "LeaseAlreadyPresent", blob.acquire_lease, 15)
    equal(blob.download_blob().readall(), b"one")
    blob.upload_blob(b"two", overwrite=True, lease=lease)
    lease.renew()
    advance(16)
    refused(412, "LeaseLost", blob.upload_blob, b"three", overwrite=True, lease=lease)
    blob.upload_blob(b"three", overwrite=True)
    lease = blob.acquire_lease(-1)
    lease.change("6fa459ea-ee8a-3ca4-894e-db77e160355e")
    equal(lease.id, "6fa459ea-ee8a-3ca4-894e-db77e160355e")
    equal(blob.get_blob_properties().lease.state, "leased")
    lease.release()
    blob.acquire_lease(60).break_lease(0)
    equal(blob.get_blob_properties().lease.state, "broken")
    blob.delete_blob()


def blob_last_writer():
    blob = blobs.create_container("lastwriter").get_blob_client("b")
    race(lambda n: [blob.upload_blob(bytes([65 + n]) * 1000, overwrite=True) for _ in range(ROUNDS)])
    text = blob.download_blob().readall()
    equal((len(text), len(set(text))), (1000, 1))
    blob.upload_blob(b"last", overwrite=True)
    equal(blob.download_blob().readall(), b"last")


def blob_race():
    blob = blobs.create_container("race").get_blob_client("counter")
    blob.upload_blob(b"0")

    def count(_):
        own = BlobClient.from_connection_string(CONNECTION, "race", "counter")
        done = 0
        while done < ROUNDS:
            now = own.download_blob()
            text = str(int(now.readall()) + 1).encode()
            try:
                own.upload_blob(text, overwrite=True, etag=now.properties.etag, match_condition=MatchConditions.IfNotModified)
                done += 1
            except ResourceModifiedError:
                pass

    race(count)
    equal(blob.download_blob().readall(), str(CLIENTS * ROUNDS).encode())
    winners = []

    def create(n):
        try:
            blobs.get_blob_client("race", "one").upload_blob(str(n).encode())
            winners.append(n)
        except ResourceExistsError:
            pass

    race(create)
    equal([str(n).encode() for n in winners], [blobs.get_blob_client("race", "one").download_blob().readall()])
    holders = []

    def hold(_):
        try:
            holders.append(blobs.get_blob_client("race", "one").acquire_lease(-1))
        except HttpResponseError as error:
            equal(error.error_code, "LeaseAlreadyPresent")

    race(hold)
    equal(len(holders), 1)


# ---- containers ----

def container_optimistic():
    container = blobs.create_container("coptimistic")
    before = container.get_container_properties()
    after = container.set_container_metadata({"a": "1"})
    assert before.etag != after["etag"]
    past = datetime(2020, 1, 1, tzinfo=timezone.utc)
    refused(412, "ConditionNotMet", container.delete_container, if_unmodified_since=past)
    container.delete_container(if_modified_since=past)


def container_pessimistic():
    container = blobs.create_container("cpessimistic")
    lease = container.acquire_lease(15)
    refused(409, "LeaseAlreadyPresent", container.acquire_lease, 15)
    refused(412, "LeaseIdMissing", container.delete_container)
    container.set_container_metadata({"shared": "yes"})
    container.upload_blob("b", b"anyone")
    refused(412, "LeaseIdMismatchWithContainerOperation", container.set_container_metadata, {"a": "b"}, lease="6fa459ea-ee8a-3ca4-894e-db77e160355e")
    advance(16)
    refused(412, "LeaseLost", container.delete_container, lease=lease)
    lease = container.acquire_lease(-1)
    container.delete_container(lease=lease)


def container_last_writer():
    container = blobs.create_container("clastwriter")
    race(lambda n: [container.set_container_metadata({"a": str(n), "b": str(n)}) for _ in range(ROUNDS)])
    metadata = container.get_container_properties().metadata
    equal(metadata["a"], metadata["b"])
    container.set_container_metadata({"a": "last"})
    equal(container.get_container_properties().metadata, {"a": "last"})


def sas():
    container = blobs.create_container("sas")
    container.upload_blob("b", b"shared")
    credential = blobs.credential
    token = generate_container_sas(credential.account_name, "sas", account_key=credential.account_key, permission=ContainerSasPermissions(read=True, list=True),
                                   expiry=datetime.now(timezone.utc) + timedelta(hours=1))
    guest = ContainerClient.from_container_url(f"{container.url}?{token}")
    equal(guest.download_blob("b").readall(), b"shared")
    equal([b.name for b in guest.list_blobs()], ["b"])
    refused(403, "AuthorizationPermissionMismatch", guest.upload_blob, "c", b"x")
    nobody = ContainerClient.from_container_url(container.url)
    refused(401, "NoAuthenticationInformation", nobody.get_container_properties)


# ---- tables ----

def table_everyday():
    table = tables.create_table("Everyday")
    equal([t.name for t in tables.query_tables("TableName eq 'Everyday'")], ["Everyday"])
    entity = {"PartitionKey": "p", "RowKey": "r", "text": "T", "number": 7, "real": 1.5, "yes": True, "bytes": b"\x00\x01",
              "when": datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone.utc)}
    table.create_entity(entity)
    got = table.get_entity("p", "r")
    equal({k: got[k] for k in entity}, entity)
    refused(409, "EntityAlreadyExists", table.create_entity, entity)
    table.update_entity({"PartitionKey": "p", "RowKey": "r", "number": 8}, mode=UpdateMode.MERGE)
    equal(table.get_entity("p", "r")["text"], "T")
    table.update_entity({"PartitionKey": "p", "RowKey": "r", "number": 9}, mode=UpdateMode.REPLACE)
    equal("text" in table.get_entity("p", "r"), False)
    table.submit_transaction([("upsert", {"PartitionKey": "q", "RowKey": f"{i:04}", "n": i}) for i in range(100)])
    equal(len(list(table.query_entities("PartitionKey eq 'q' and n ge 90 and n lt 95"))), 5)
    equal(sorted(table.query_entities("PartitionKey eq 'q' and RowKey eq '0007'", select=["n"]).next().keys()), ["n"])
    equal([len(list(page)) for page in table.list_entities(results_per_page=60).by_page()], [60, 41])
    refused(409, "EntityAlreadyExists", table.submit_transaction, [("create", {"PartitionKey": "q", "RowKey": "new"}), ("create", {"PartitionKey": "q", "RowKey": "0001"})])
    refused(404, "ResourceNotFound", table.get_entity, "q", "new")
    table.delete_entity("p", "r")
    refused(404, "ResourceNotFound", table.get_entity, "p", "r")
    table.delete_table()


def table_optimistic():
    table = tables.create_table("Optimistic")
    table.create_entity({"PartitionKey": "p", "RowKey": "r", "email": "one"})
    old = table.get_entity("p", "r")
    table.update_entity({"PartitionKey": "p", "RowKey": "r", "email": "two"})
    for mode in (UpdateMode.REPLACE, UpdateMode.MERGE):
        old["email"] = "three"
        refused(412, "UpdateConditionNotSatisfied", table.update_entity, old, mode=mode, match_condition=MatchConditions.IfNotModified)
    refused(412, "UpdateConditionNotSatisfied", table.delete_entity, old, match_condition=MatchConditions.IfNotModified)
    new = table.get_entity("p", "r")
    equal(new["email"], "two")
    new["email"] = "four"
    table.update_entity(new, mode=UpdateMode.REPLACE, match_condition=MatchConditions.IfNotModified)
    table.delete_entity(table.get_entity("p", "r"), match_condition=MatchConditions.IfNotModified)


def table_any():
    table = tables.create_table("Any")
    table.create_entity({"PartitionKey": "p", "RowKey": "r", "email": "one"})
    table.update_entity({"PartitionKey": "p", "RowKey": "r", "email": "two"}, mode=UpdateMode.REPLACE)  # sends If-Match: *
    equal(table.get_entity("p", "r")["email"], "two")
    race(lambda n: [table.upsert_entity({"PartitionKey": "p", "RowKey": "r", "a": n, "b": n}, mode=UpdateMode.REPLACE) for _ in range(ROUNDS)])
    got = table.get_entity("p", "r")
    equal(got["a"], got["b"])
    table.upsert_entity({"PartitionKey": "p", "RowKey": "new", "a": 1}, mode=UpdateMode.MERGE)
    refused(404, "ResourceNotFound", table.update_entity, {"PartitionKey": "p", "RowKey": "absent"}, mode=UpdateMode.REPLACE)
    table.delete_entity("p", "r")


def table_race():
    table = tables.create_table("Race")
    table.create_entity({"PartitionKey": "p", "RowKey": "counter", "n": 0})

    def count(_):
        done = 0
        while done < ROUNDS:
            entity = table.get_entity("p", "counter")
            entity["n"] += 1
            try:
                table.update_entity(entity, mode=UpdateMode.REPLACE, match_condition=MatchConditions.IfNotModified)
                done += 1
            except ResourceModifiedError:
                pass

    race(count)
    equal(table.get_entity("p", "counter")["n"], CLIENTS * ROUNDS)


# ---- queues ----

def queue_everyday():
    queue = queues.create_queue("everyday", metadata={"a": "b"})
    equal([q.name for q in queues.list_queues("every")], ["everyday"])
    sent = queue.send_message("one")
    queue.send_message("<&>")
    equal(queue.get_queue_properties().approximate_message_count, 2)
    equal(sorted(m.content for m in queue.peek_messages(5)), ["<&>", "one"])
    got = queue.receive_message(visibility_timeout=30)
    equal((got.id, got.content, got.dequeue_count), (sent.id, "one", 1))
    updated = queue.update_message(got.id, got.pop_receipt, "changed", visibility_timeout=0)
    refused(404, "MessageNotFound", queue.delete_message, got.id, got.pop_receipt)
    queue.delete_message(updated.id, updated.pop_receipt)
    queue.clear_messages()
    equal(queue.get_queue_properties().approximate_message_count, 0)
    queue.delete_queue()
    refused(404, "QueueNotFound", queue.get_queue_properties)


def queue_visibility():
    queue = queues.create_queue("visibility")
    queue.send_message("work")
    first = queue.receive_message(visibility_timeout=30)
    equal(queue.receive_message(), None)
    advance(31)
    second = queue.receive_message(visibility_timeout=30)
    equal((second.id, second.dequeue_count), (first.id, 2))
    refused(404, "MessageNotFound", queue.delete_message, first.id, first.pop_receipt)
    queue.delete_message(second.id, second.pop_receipt)
    advance(31)
    equal(queue.receive_message(), None)
    refused(404, "MessageNotFound", queue.delete_message, second.id, second.pop_receipt)


def queue_race():
    queue = queues.create_queue("race")
    want = {f"m{i}" for i in range(CLIENTS * ROUNDS)}
    for text in want:
        queue.send_message(text)
    seen = []

    def take(_):
        while True:
            batch = list(queue.receive_messages(messages_per_page=3, max_messages=3, visibility_timeout=600))
            if not batch:
                return
            for message in batch:
                seen.append(message.content)
                queue.delete_message(message)

    race(take)
    equal(sorted(seen), sorted(want))
    equal(queue.get_queue_properties().approximate_message_count, 0)


def queue_last_writer():
    queue = queues.create_queue("lastwriter")
    race(lambda n: [queue.set_queue_metadata({"a": str(n), "b": str(n)}) for _ in range(ROUNDS)])
    metadata = queue.get_queue_properties().metadata
    equal(metadata["a"], metadata["b"])
    queue.set_queue_metadata({"a": "last"})
    equal(queue.get_queue_properties().metadata, {"a": "last"})


# ---- files ----

def file_everyday():
    share = shares.create_share("everyday", metadata={"a": "b"}, quota=5)
    equal((share.get_share_properties().quota, share.get_share_properties().metadata), (5, {"a": "b"}))
    folder = share.create_directory("dir")
    file = folder.get_file_client("Hello.txt")
    file.upload_file(b"Hello", metadata={"k": "v"})
    equal(file.download_file().readall(), b"Hello")
    equal(share.get_file_client("DIR/hello.TXT").get_file_properties().size, 5)
    file.set_file_metadata({"k": "w"})
    equal(file.get_file_properties().metadata, {"k": "w"})
    file.upload_range(b"J", 0, 1)
    equal(file.download_file(offset=0, length=2).readall(), b"Je")
    file.resize_file(2048)
    file.clear_range(512, 512)
    file.upload_range(b"x" * 512, 1024, 512)
    equal([(r["start"], r["end"]) for r in file.get_ranges()][-1], (1024, 1535))
    large = os.urandom(9_000_000)
    share.get_file_client("large").upload_file(large, max_concurrency=4)
    equal(share.get_file_client("large").download_file(max_concurrency=4).readall(), large)
    snapshot = share.create_snapshot()["snapshot"]
    file.upload_file(b"Changed")
    equal(shares.get_share_client("everyday", snapshot=snapshot).get_file_client("dir/Hello.txt").get_file_properties().size, 2048)
    equal(share.get_file_client("copy").start_copy_from_url(file.url)["copy_status"], "success")
    equal(share.get_file_client("copy").download_file().readall(), b"Changed")
    renamed = file.rename_file("dir/Renamed.txt")
    equal(renamed.download_file().readall(), b"Changed")
    equal(sorted((e.name, e.is_directory) for e in share.list_directories_and_files()), [("copy", False), ("dir", True), ("large", False)])
    refused(409, "DirectoryNotEmpty", folder.delete_directory)
    renamed.delete_file()
    folder.delete_directory()
    refused(404, "ParentNotFound", renamed.get_file_properties)
    refused(409, "ShareHasSnapshots", share.delete_share)
    share.delete_share(delete_snapshots=True)


def file_last_writer():
    share = shares.create_share("lastwriter")
    file = share.get_file_client("f")
    file.create_file(1000)
    race(lambda n: [file.upload_range(bytes([65 + n]) * 1000, 0, 1000) for _ in range(ROUNDS)])
    text = file.download_file().readall()
    equal((len(text), len(set(text))), (1000, 1))
    file.upload_file(b"last")
    equal(file.download_file().readall(), b"last")


def file_lease():
    share = shares.create_share("lease")
    file = share.get_file_client("f")
    file.upload_file(b"one")
    lease = file.acquire_lease()
    refused(412, "LeaseIdMissing", file.upload_range, b"two", 0, 3)
    refused(409, "LeaseAlreadyPresent", file.acquire_lease)
    file.upload_range(b"two", 0, 3, lease=lease)
    equal(file.download_file().readall(), b"two")
    lease.release()
    lease = file.acquire_lease()
    lease.break_lease()
    file.delete_file()


def file_race():
    share = shares.create_share("race")
    winners = []

    def make(n):
        for i in range(ROUNDS):
            try:
                share.create_directory(f"d{i}")
                winners.append(i)
            except ResourceExistsError:
                pass
            share.get_file_client(f"d{i}/of{n}").create_file(0)

    race(make)
    equal(sorted(winners), list(range(ROUNDS)))
    for i in range(ROUNDS):
        equal([e.name for e in share.list_directories_and_files(f"d{i}")], [f"of{n}" for n in range(CLIENTS)])
    moved = []

    def rename(n):
        try:
            share.get_file_client("d0/of0").rename_file(f"moved{n}")
            moved.append(f"moved{n}")
        except ResourceNotFoundError:
            pass

    race(rename)
    equal([e.name for e in share.list_directories_and_files(name_starts_with="moved")], moved)
    equal(len(moved), 1)


CASES = {
    "blob everyday": blob_everyday, "blob optimistic": blob_optimistic, "blob pessimistic": blob_pessimistic,
    "blob last writer wins": blob_last_writer, "blob race": blob_race,
    "container optimistic": container_optimistic, "container pessimistic": container_pessimistic, "container last writer wins": container_last_writer,
    "shared access signature": sas,
    "table everyday": table_everyday, "table optimistic": table_optimistic, "table any ETag": table_any, "table race": table_race,
    "queue everyday": queue_everyday, "queue visibility": queue_visibility, "queue race": queue_race, "queue last writer wins": queue_last_writer,
    "file everyday": file_everyday, "file last writer wins": file_last_writer, "file lease": file_lease, "file race": file_race,
}

failed = 0
for name, case in CASES.items():
    try:
        case()
        print(f"ok {name}", flush=True)
    except Exception as error:  # every case is run, whatever the others do
        failed += 1
        traceback.print_exc()
        print(f"not ok {name}: {' '.join(str(error).split())[:300]}", flush=True)
sys.exit(1 if failed else 0)
