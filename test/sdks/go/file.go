// SPDX-License-Identifier: Apache-2.0
// Shares, directories and files over REST.
package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azfile/directory"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azfile/file"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azfile/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azfile/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azfile/share"
)

func fileService() *service.Client {
	return must(service.NewClientFromConnectionString(connection, nil))
}

func newShare(name string) *share.Client {
	client := fileService().NewShareClient(name)
	must(client.Create(ctx, nil))
	return client
}

func content(f *file.Client) string {
	return readAll(must(f.DownloadStream(ctx, nil)).Body)
}

func entries(d *directory.Client, prefix string) (out []string) {
	for pager := d.NewListFilesAndDirectoriesPager(&directory.ListFilesAndDirectoriesOptions{Prefix: &prefix}); pager.More(); {
		page := must(pager.NextPage(ctx)).Segment
		for _, item := range page.Files {
			out = append(out, *item.Name)
		}
		for _, item := range page.Directories {
			out = append(out, *item.Name+"/")
		}
	}
	sort.Strings(out)
	return out
}

func fileEveryday() {
	s := fileService().NewShareClient("everyday")
	must(s.Create(ctx, &share.CreateOptions{Metadata: map[string]*string{"a": to("b")}, Quota: to(int32(5))}))
	properties := must(s.GetProperties(ctx, nil))
	equal([]any{*properties.Quota, *properties.Metadata["A"]}, []any{int32(5), "b"})
	d := s.NewDirectoryClient("dir")
	must(d.Create(ctx, nil))
	f := d.NewFileClient("Hello.txt")
	must(f.Create(ctx, 5, &file.CreateOptions{Metadata: map[string]*string{"k": to("v")}}))
	must(f.UploadRange(ctx, 0, body("Hello"), nil))
	equal(content(f), "Hello")
	equal(*must(s.NewDirectoryClient("DIR").NewFileClient("hello.TXT").GetProperties(ctx, nil)).ContentLength, int64(5))
	must(f.SetMetadata(ctx, &file.SetMetadataOptions{Metadata: map[string]*string{"k": to("w")}}))
	equal(*must(f.GetProperties(ctx, nil)).Metadata["K"], "w")
	must(f.UploadRange(ctx, 0, body("J"), nil))
	equal(content(f), "Jello")
	must(f.Resize(ctx, 2048, nil))
	must(f.ClearRange(ctx, file.HTTPRange{Offset: 512, Count: 512}, nil))
	must(f.UploadRange(ctx, 1024, body(strings.Repeat("x", 512)), nil))
	ranges := must(f.GetRangeList(ctx, nil)).Ranges
	last := ranges[len(ranges)-1]
	equal([]int64{*last.Start, *last.End}, []int64{1024, 1535})
	bytes := randomBytes(9_000_000)
	large := s.NewRootDirectoryClient().NewFileClient("large")
	must(large.Create(ctx, int64(len(bytes)), nil))
	check(large.UploadBuffer(ctx, bytes, &file.UploadBufferOptions{ChunkSize: 1 << 20, Concurrency: 4}))
	back := make([]byte, len(bytes))
	must(large.DownloadBuffer(ctx, back, &file.DownloadBufferOptions{ChunkSize: 1 << 20, Concurrency: 4}))
	sameBytes(back, bytes)
	fileMoves(s, d, f)
}

func fileMoves(s *share.Client, d *directory.Client, f *file.Client) {
	snapshot := must(s.CreateSnapshot(ctx, nil)).Snapshot
	must(f.Create(ctx, 7, nil))
	must(f.UploadRange(ctx, 0, body("Changed"), nil))
	old := must(s.WithSnapshot(*snapshot)).NewDirectoryClient("dir").NewFileClient("Hello.txt")
	equal(*must(old.GetProperties(ctx, nil)).ContentLength, int64(2048))
	root := s.NewRootDirectoryClient()
	copied := root.NewFileClient("copy")
	equal(string(*must(copied.StartCopyFromURL(ctx, f.URL(), nil)).CopyStatus), "success")
	equal(content(copied), "Changed")
	must(f.Rename(ctx, "dir/Renamed.txt", nil))
	renamed := d.NewFileClient("Renamed.txt")
	equal(content(renamed), "Changed")
	equal(entries(root, ""), []string{"copy", "dir/", "large"})
	refused[directory.DeleteResponse](409, "DirectoryNotEmpty")(d.Delete(ctx, nil))
	must(renamed.Delete(ctx, nil))
	refused[file.GetPropertiesResponse](404, "ResourceNotFound")(renamed.GetProperties(ctx, nil))
	must(d.Delete(ctx, nil))
	refused[share.DeleteResponse](409, "ShareHasSnapshots")(s.Delete(ctx, nil))
	must(s.Delete(ctx, &share.DeleteOptions{DeleteSnapshots: to(share.DeleteSnapshotsOptionTypeInclude)}))
}

func fileLastWriter() {
	f := newShare("lastwriter").NewRootDirectoryClient().NewFileClient("f")
	must(f.Create(ctx, 1000, nil))
	race(func(n int) {
		for range rounds {
			must(f.UploadRange(ctx, 0, body(repeated(n)), nil))
		}
	})
	uniform(content(f))
	must(f.Create(ctx, 4, nil))
	must(f.UploadRange(ctx, 0, body("last"), nil))
	equal(content(f), "last")
}

func fileLease() {
	f := newShare("lease").NewRootDirectoryClient().NewFileClient("f")
	must(f.Create(ctx, 3, nil))
	holder, second := must(lease.NewFileClient(f, nil)), must(lease.NewFileClient(f, nil))
	must(holder.Acquire(ctx, nil))
	refused[file.UploadRangeResponse](412, "LeaseIdMissing")(f.UploadRange(ctx, 0, body("two"), nil))
	refused[lease.FileAcquireResponse](409, "LeaseAlreadyPresent")(second.Acquire(ctx, nil))
	must(f.UploadRange(ctx, 0, body("two"), &file.UploadRangeOptions{LeaseAccessConditions: &file.LeaseAccessConditions{LeaseID: holder.LeaseID()}}))
	equal(content(f), "two")
	must(holder.Release(ctx, nil))
	must(second.Acquire(ctx, nil))
	must(second.Break(ctx, nil))
	must(f.Delete(ctx, nil))
}

func fileRace() {
	s := newShare("race")
	var winners list[int]
	race(func(n int) {
		for i := range rounds {
			d := s.NewDirectoryClient(fmt.Sprintf("d%d", i))
			_, err := d.Create(ctx, nil)
			if err == nil {
				winners.add(i)
			} else if !isCode(err, "ResourceAlreadyExists") {
				panic(err)
			}
			must(d.NewFileClient(fmt.Sprintf("of%d", n)).Create(ctx, 0, nil))
		}
	})
	equal(len(winners.items), rounds)
	for i := range rounds {
		equal(len(entries(s.NewDirectoryClient(fmt.Sprintf("d%d", i)), "")), clients)
	}
	var moved list[string]
	race(func(n int) {
		target := fmt.Sprintf("moved%d", n)
		_, err := s.NewDirectoryClient("d0").NewFileClient("of0").Rename(ctx, target, nil)
		if err == nil {
			moved.add(target)
		} else if !isCode(err, "ResourceNotFound") {
			panic(err)
		}
	})
	equal(len(moved.items), 1)
	equal(entries(s.NewRootDirectoryClient(), "moved"), moved.items)
}
