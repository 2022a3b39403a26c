# SPDX-License-Identifier: Apache-2.0
# The Python SDK against the File service: each operation it has, success and documented errors. Run by file.test.mjs with the connection
# string in AZURE_STORAGE_CONNECTION_STRING; prints "done" at its end.
import io
import os
from datetime import datetime, timedelta

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.fileshare import (
    AccessPolicy, ContentSettings, CorsRule, Metrics, NTFSAttributes, ShareAccessTier, ShareLeaseClient, ShareSasPermissions, ShareServiceClient, generate_share_sas,
)

service = ShareServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"], retry_total=0)


def refused(code, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except HttpResponseError as error:
        assert error.error_code == code, f"{code} expected, got {error.error_code}: {error.message}"
        return
    raise AssertionError(f"{code} expected, but it succeeded")


# service
service.set_service_properties(hour_metrics=Metrics(enabled=False), cors=[CorsRule(["http://x"], ["GET"])])
assert "http://x" in service.get_service_properties()["cors"][0].allowed_origins

# shares
share = service.create_share("pyshare", metadata={"a": "b"}, quota=3, access_tier=ShareAccessTier("Hot"))
refused("ShareAlreadyExists", service.create_share, "pyshare")
properties = share.get_share_properties()
assert (properties.quota, properties.metadata, properties.access_tier) == (3, {"a": "b"}, "Hot")
share.set_share_quota(4)
share.set_share_properties(quota=5, access_tier=ShareAccessTier("Cool"))
assert (share.get_share_properties().quota, share.get_share_properties().access_tier) == (5, "Cool")
share.set_share_metadata({"c": "d"})
share.set_share_access_policy({"p": AccessPolicy(permission=ShareSasPermissions(read=True), expiry=datetime.utcnow() + timedelta(hours=1), start=datetime.utcnow())})
assert len(share.get_share_access_policy()["signed_identifiers"]) == 1
assert share.get_share_stats() == 0
assert [s.name for s in service.list_shares(name_starts_with="pysh", include_metadata=True)] == ["pyshare"]
key = share.create_permission_for_share("O:SYG:SYD:(A;;FA;;;BA)")
assert share.get_permission_for_share(key).startswith("O:SYG:SYD:(A;;FA;;;BA)")

# directories
directory = share.create_directory("dir", metadata={"e": "f"})
refused("ResourceAlreadyExists", share.create_directory, "dir")
refused("ParentNotFound", share.create_directory, "no/dir")
assert directory.get_directory_properties().metadata == {"e": "f"}
directory.set_directory_metadata({"g": "h"})
directory.set_http_headers(file_attributes=NTFSAttributes(hidden=True, directory=True), file_creation_time=datetime(2020, 1, 1, 0, 0, 0, 1))
assert "Hidden" in str(directory.get_directory_properties().file_attributes)
sub = directory.create_subdirectory("sub")
refused("DirectoryNotEmpty", directory.delete_directory)
directory.create_subdirectory("other")
directory.delete_subdirectory("other")
refused("ResourceNotFound", directory.delete_subdirectory, "other")
sub = sub.rename_directory("dir/renamed")
assert sub.exists()
assert [item.name for item in share.list_directories_and_files("dir")] == ["renamed"]

# files
data = os.urandom(9 * 1024 * 1024 + 7)
file = directory.get_file_client("file.bin")
file.upload_file(data, metadata={"i": "j"}, max_concurrency=4, validate_content=True)
assert file.download_file(max_concurrency=3).readall() == data
assert file.download_file(offset=5, length=10, validate_content=True).readall() == data[5:15]
empty = directory.get_file_client("empty")
empty.upload_file(b"")
assert empty.download_file().readall() == b""
small = directory.get_file_client("small")
small.create_file(2048, file_attributes="none", file_creation_time="now", file_last_write_time="now", file_permission="inherit")
small.upload_range(b"abc", offset=600, length=3)
small.upload_range(b"abc", offset=10, length=3)
small.clear_range(offset=0, length=512)
assert [(r["start"], r["end"]) for r in small.get_ranges()] == [(512, 1023)]
small.resize_file(50)
small.set_http_headers(ContentSettings(content_type="text/plain"), file_attributes="preserve")
small.set_file_metadata({"k": "l"})
assert small.get_file_properties().size == 50
refused("InvalidRange", small.upload_range, b"abc", offset=49, length=3)
sas = generate_share_sas("devstoreaccount1", "pyshare", service.credential.account_key, permission="r", expiry=datetime.utcnow() + timedelta(hours=1))
small.upload_range_from_url(f"{file.url}?{sas}", offset=0, length=20, source_offset=30)
assert small.download_file(0, 20).readall() == data[30:50]
copy = directory.get_file_client("copy")
assert copy.start_copy_from_url(file.url)["copy_status"] == "success"
assert copy.download_file().readall() == data
refused("NoPendingCopyOperation", copy.abort_copy, "11111111-2222-3333-4444-555555555555")
lease = ShareLeaseClient(small)
lease.acquire()
refused("LeaseIdMissing", small.delete_file)
lease.change("11111111-2222-3333-4444-555555555555")
small.set_file_metadata({}, lease=lease)
lease.release()
renamed = small.rename_file("dir/moved")
assert renamed.get_file_properties().size == 50
refused("ResourceNotFound", small.get_file_properties)
assert [item.name for item in directory.list_directories_and_files(name_starts_with="mo", include=["timestamps", "Etag", "Attributes", "PermissionKey"], include_extended_info=True)] == ["moved"]
assert list(directory.list_handles(recursive=True)) == []
assert directory.close_all_handles(recursive=True) == {"closed_handles_count": 0, "failed_handles_count": 0}
assert directory.close_handle("1") == renamed.close_handle("1") == {"closed_handles_count": 0, "failed_handles_count": 0}

# snapshots
snapshot = share.create_snapshot()["snapshot"]
renamed.upload_file(b"changed")
old = service.get_share_client("pyshare", snapshot=snapshot)
assert old.get_directory_client("dir").get_file_client("moved").get_file_properties().size == 50
changed = directory.get_file_client("file.bin")
changed.upload_range(b"x" * 512, offset=0, length=512)
ranges, cleared = changed.get_ranges_diff(previous_sharesnapshot=snapshot)
assert (ranges, cleared) == ([{"start": 0, "end": 511}], []), (ranges, cleared)
refused("ShareHasSnapshots", share.delete_share)

# ends
renamed.delete_file()
refused("ResourceNotFound", renamed.delete_file)
refused("ResourceNotFound", renamed.get_file_properties)
lease = ShareLeaseClient(share)
lease.acquire(lease_duration=15)
lease.renew()
refused("LeaseIdMissing", share.delete_share, delete_snapshots=True)
lease.break_lease(lease_break_period=0)
share.delete_share(delete_snapshots=True)
refused("ShareNotFound", share.get_share_properties)
deleted = [s for s in service.list_shares(name_starts_with="pyshare", include_deleted=True) if s.deleted]
back = service.undelete_share("pyshare", deleted[0].version)
assert back.get_directory_client("dir").get_file_client("copy").download_file().readall() == data
refused("ShareAlreadyExists", service.undelete_share, "pyshare", deleted[0].version)
back.delete_share(delete_snapshots=True)
print("done")
