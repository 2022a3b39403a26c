// SPDX-License-Identifier: Apache-2.0
// Blobs and containers.
package main

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/pageblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

func blobService() *service.Client {
	return must(service.NewClientFromConnectionString(connection, nil))
}

func newContainer(name string) *container.Client {
	client := blobService().NewContainerClient(name)
	must(client.Create(ctx, nil))
	return client
}

func upload(client *blockblob.Client, text string, conditions *blob.AccessConditions) (blockblob.UploadResponse, error) {
	return client.Upload(ctx, body(text), &blockblob.UploadOptions{AccessConditions: conditions})
}

func ifMatch(etag azcore.ETag) *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag}}
}

func withLease(id string) *blob.AccessConditions {
	return &blob.AccessConditions{LeaseAccessConditions: &blob.LeaseAccessConditions{LeaseID: &id}}
}

var ifAbsent = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to(azcore.ETagAny)}}

func download(client *blob.Client, o *blob.DownloadStreamOptions) (string, azcore.ETag) {
	answer := must(client.DownloadStream(ctx, o))
	return readAll(answer.Body), *answer.ETag
}

func text(client *blockblob.Client) string {
	got, _ := download(client.BlobClient(), nil)
	return got
}

func names(c *container.Client) (out []string) {
	for pager := c.NewListBlobsFlatPager(nil); pager.More(); {
		for _, item := range must(pager.NextPage(ctx)).Segment.BlobItems {
			out = append(out, *item.Name)
		}
	}
	return out
}

func blobEveryday() {
	c := blobService().NewContainerClient("everyday")
	must(c.Create(ctx, &container.CreateOptions{Metadata: map[string]*string{"purpose": to("test")}}))
	equal(*must(c.GetProperties(ctx, nil)).Metadata["Purpose"], "test")
	b := c.NewBlockBlobClient("a/hello.txt")
	must(b.Upload(ctx, body("Hello"), &blockblob.UploadOptions{Metadata: map[string]*string{"k": to("v")}, Tags: map[string]string{"team": "red"},
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to("text/plain")}}))
	equal(text(b), "Hello")
	part, _ := download(b.BlobClient(), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 1, Count: 3}})
	equal(part, "ell")
	properties := must(b.GetProperties(ctx, nil))
	equal([]any{*properties.ContentLength, *properties.ContentType, *properties.Metadata["K"]}, []any{int64(5), "text/plain", "v"})
	must(b.SetMetadata(ctx, map[string]*string{"k": to("w")}, nil))
	must(b.SetHTTPHeaders(ctx, blob.HTTPHeaders{BlobContentType: to("text/css")}, nil))
	must(b.SetTags(ctx, map[string]string{"team": "blue"}, nil))
	equal(*must(b.GetTags(ctx, nil)).BlobTagSet[0].Value, "blue")
	equal(*must(blobService().FilterBlobs(ctx, "\"team\"='blue'", nil)).Blobs[0].Name, "a/hello.txt")
	blocksAndLarge(c)
	otherKinds(c)
	snapshot := must(b.CreateSnapshot(ctx, nil)).Snapshot
	must(upload(b, "Changed", nil))
	old, _ := download(must(b.BlobClient().WithSnapshot(*snapshot)), nil)
	equal(old, "Hello")
	copied := c.NewBlockBlobClient("copy")
	equal(*must(copied.StartCopyFromURL(ctx, b.URL(), nil)).CopyStatus, blob.CopyStatusTypeSuccess)
	equal(text(copied), "Changed")
	equal(names(c), []string{"a/hello.txt", "blocks", "copy", "disk", "large", "log"})
	first := must(c.NewListBlobsHierarchyPager("/", nil).NextPage(ctx))
	equal([]any{*first.Segment.BlobPrefixes[0].Name, len(first.Segment.BlobItems)}, []any{"a/", 5})
	pages := 0
	for pager := c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{MaxResults: to(int32(2))}); pager.More(); pages++ {
		equal(len(must(pager.NextPage(ctx)).Segment.BlobItems), 2)
	}
	equal(pages, 3)
	batch := must(c.NewBatchBuilder())
	check(batch.Delete("copy", nil))
	check(batch.Delete("disk", nil))
	for _, answer := range must(c.SubmitBatch(ctx, batch, nil)).Responses {
		check(answer.Error)
	}
	refused[blob.DeleteResponse](409, "SnapshotsPresent")(b.Delete(ctx, nil))
	must(b.Delete(ctx, &blob.DeleteOptions{DeleteSnapshots: to(blob.DeleteSnapshotsOptionTypeInclude)}))
	refused[blob.GetPropertiesResponse](404, "BlobNotFound")(b.GetProperties(ctx, nil))
	must(c.Delete(ctx, nil))
	refused[container.GetPropertiesResponse](404, "ContainerNotFound")(c.GetProperties(ctx, nil))
}

func blocksAndLarge(c *container.Client) {
	blocks := c.NewBlockBlobClient("blocks")
	id := func(n string) string { return base64.StdEncoding.EncodeToString([]byte(n)) }
	for _, n := range []string{"1", "2", "3"} {
		must(blocks.StageBlock(ctx, id(n), body("block"+n), nil))
	}
	must(blocks.CommitBlockList(ctx, []string{id("3"), id("1")}, nil))
	equal(text(blocks), "block3block1")
	equal(len(must(blocks.GetBlockList(ctx, blockblob.BlockListTypeAll, nil)).CommittedBlocks), 2)
	large := randomBytes(9_000_000)
	b := c.NewBlockBlobClient("large")
	must(b.UploadBuffer(ctx, large, &blockblob.UploadBufferOptions{BlockSize: 1 << 20, Concurrency: 4}))
	back := make([]byte, len(large))
	must(b.DownloadBuffer(ctx, back, &blob.DownloadBufferOptions{BlockSize: 1 << 20, Concurrency: 4}))
	sameBytes(back, large)
}

func otherKinds(c *container.Client) {
	log := c.NewAppendBlobClient("log")
	must(log.Create(ctx, nil))
	must(log.AppendBlock(ctx, body("one,"), nil))
	at := func(position int64) *appendblob.AppendBlockOptions {
		return &appendblob.AppendBlockOptions{AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &position}}
	}
	equal(*must(log.AppendBlock(ctx, body("two"), at(4))).BlobAppendOffset, "4")
	refused[appendblob.AppendBlockResponse](412, "AppendPositionConditionNotMet")(log.AppendBlock(ctx, body("x"), at(4)))
	got, _ := download(log.BlobClient(), nil)
	equal(got, "one,two")
	disk := c.NewPageBlobClient("disk")
	must(disk.Create(ctx, 4096, nil))
	must(disk.UploadPages(ctx, body(string(make([]byte, 512))), blob.HTTPRange{Offset: 1024, Count: 512}, nil))
	ranges := must(disk.NewGetPageRangesPager(&pageblob.GetPageRangesOptions{}).NextPage(ctx)).PageRange
	equal([]int64{*ranges[0].Start, *ranges[0].End}, []int64{1024, 1535})
}

func blobOptimistic() {
	b := newContainer("optimistic").NewBlockBlobClient("b")
	first := *must(upload(b, "one", nil)).ETag
	thirdParty := *must(upload(b, "two", nil)).ETag
	if first == thirdParty {
		fail("the ETag stayed")
	}
	stale := refused[blockblob.UploadResponse](412, "ConditionNotMet")
	stale(upload(b, "three", ifMatch(first)))
	equal(text(b), "two")
	mine := *must(upload(b, "three", ifMatch(thirdParty))).ETag
	refused[blockblob.UploadResponse](409, "BlobAlreadyExists")(upload(b, "four", ifAbsent))
	refused[blob.SetMetadataResponse](412, "ConditionNotMet")(b.SetMetadata(ctx, map[string]*string{"a": to("b")}, &blob.SetMetadataOptions{AccessConditions: ifMatch(first)}))
	unchanged := &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: &mine}}
	equal(*must(b.DownloadStream(ctx, &blob.DownloadStreamOptions{AccessConditions: unchanged})).ErrorCode, "ConditionNotMet") // a 304 is no error here
	refused[blob.DeleteResponse](412, "ConditionNotMet")(b.Delete(ctx, &blob.DeleteOptions{AccessConditions: ifMatch(first)}))
	past := &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfUnmodifiedSince: to(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))}}
	stale(upload(b, "five", past))
	must(b.Delete(ctx, &blob.DeleteOptions{AccessConditions: ifMatch(mine)}))
}

func blobPessimistic() {
	b := newContainer("pessimistic").NewBlockBlobClient("b")
	before := *must(upload(b, "one", nil)).ETag
	holder := must(lease.NewBlobClient(b, nil))
	must(holder.AcquireLease(ctx, 15, nil))
	equal(*must(b.GetProperties(ctx, nil)).ETag, before)
	refused[blockblob.UploadResponse](412, "LeaseIdMissing")(upload(b, "two", nil))
	refused[blockblob.UploadResponse](412, "LeaseIdMismatchWithBlobOperation")(upload(b, "two", withLease(other)))
	second := must(lease.NewBlobClient(b, nil))
	refused[lease.BlobAcquireResponse](409, "LeaseAlreadyPresent")(second.AcquireLease(ctx, 15, nil))
	equal(text(b), "one")
	must(upload(b, "two", withLease(*holder.LeaseID())))
	must(holder.RenewLease(ctx, nil))
	advance(16)
	refused[blockblob.UploadResponse](412, "LeaseLost")(upload(b, "three", withLease(*holder.LeaseID())))
	must(upload(b, "three", nil))
	must(second.AcquireLease(ctx, -1, nil))
	must(second.ChangeLease(ctx, other, nil))
	equal(*second.LeaseID(), other)
	equal(*must(b.GetProperties(ctx, nil)).LeaseState, lease.StateTypeLeased)
	must(second.ReleaseLease(ctx, nil))
	third := must(lease.NewBlobClient(b, nil))
	must(third.AcquireLease(ctx, 60, nil))
	must(third.BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: to(int32(0))}))
	equal(*must(b.GetProperties(ctx, nil)).LeaseState, lease.StateTypeBroken)
	must(b.Delete(ctx, nil))
}

func blobLastWriter() {
	b := newContainer("lastwriter").NewBlockBlobClient("b")
	race(func(n int) {
		for range rounds {
			must(upload(b, repeated(n), nil))
		}
	})
	uniform(text(b))
	must(upload(b, "last", nil))
	equal(text(b), "last")
}

func repeated(n int) string {
	out := make([]byte, 1000)
	for i := range out {
		out[i] = byte('A' + n)
	}
	return string(out)
}

func blobRace() {
	c := newContainer("race")
	must(upload(c.NewBlockBlobClient("counter"), "0", nil))
	race(func(int) {
		own := blobService().NewContainerClient("race").NewBlockBlobClient("counter")
		for done := 0; done < rounds; {
			now, etag := download(own.BlobClient(), nil)
			_, err := upload(own, strconv.Itoa(must(strconv.Atoi(now))+1), ifMatch(etag))
			if err == nil {
				done++
			} else if !isCode(err, "ConditionNotMet") {
				panic(err)
			}
		}
	})
	equal(text(c.NewBlockBlobClient("counter")), fmt.Sprint(clients*rounds))
	one := c.NewBlockBlobClient("one")
	var winners, holders list[string]
	race(func(n int) {
		_, err := upload(one, strconv.Itoa(n), ifAbsent)
		if err == nil {
			winners.add(strconv.Itoa(n))
		} else if !isCode(err, "BlobAlreadyExists") {
			panic(err)
		}
	})
	equal(winners.items, []string{text(one)})
	race(func(int) {
		holder := must(lease.NewBlobClient(one, nil))
		_, err := holder.AcquireLease(ctx, -1, nil)
		if err == nil {
			holders.add(*holder.LeaseID())
		} else if !isCode(err, "LeaseAlreadyPresent") {
			panic(err)
		}
	})
	equal(len(holders.items), 1)
}

func containerOptimistic() {
	c := newContainer("coptimistic")
	before := *must(c.GetProperties(ctx, nil)).ETag
	after := *must(c.SetMetadata(ctx, &container.SetMetadataOptions{Metadata: map[string]*string{"a": to("1")}})).ETag
	if before == after {
		fail("the ETag stayed")
	}
	past := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	conditions := func(m container.ModifiedAccessConditions) *container.AccessConditions {
		return &container.AccessConditions{ModifiedAccessConditions: &m}
	}
	refused[container.DeleteResponse](412, "ConditionNotMet")(c.Delete(ctx, &container.DeleteOptions{AccessConditions: conditions(container.ModifiedAccessConditions{IfUnmodifiedSince: &past})}))
	must(c.Delete(ctx, &container.DeleteOptions{AccessConditions: conditions(container.ModifiedAccessConditions{IfModifiedSince: &past})}))
}

func containerPessimistic() {
	c := newContainer("cpessimistic")
	holder, second := must(lease.NewContainerClient(c, nil)), must(lease.NewContainerClient(c, nil))
	must(holder.AcquireLease(ctx, 15, nil))
	refused[lease.ContainerAcquireResponse](409, "LeaseAlreadyPresent")(second.AcquireLease(ctx, 15, nil))
	refused[container.DeleteResponse](412, "LeaseIdMissing")(c.Delete(ctx, nil))
	shared := &container.SetMetadataOptions{Metadata: map[string]*string{"shared": to("yes")}}
	must(c.SetMetadata(ctx, shared))
	must(upload(c.NewBlockBlobClient("b"), "anyone", nil))
	shared.LeaseAccessConditions = &container.LeaseAccessConditions{LeaseID: to(other)}
	refused[container.SetMetadataResponse](412, "LeaseIdMismatchWithContainerOperation")(c.SetMetadata(ctx, shared))
	by := func(id string) *container.DeleteOptions {
		return &container.DeleteOptions{AccessConditions: &container.AccessConditions{LeaseAccessConditions: &container.LeaseAccessConditions{LeaseID: &id}}}
	}
	advance(16)
	refused[container.DeleteResponse](412, "LeaseLost")(c.Delete(ctx, by(*holder.LeaseID())))
	must(second.AcquireLease(ctx, -1, nil))
	must(c.Delete(ctx, by(*second.LeaseID())))
}

func containerLastWriter() {
	c := newContainer("clastwriter")
	set := func(pairs map[string]*string) {
		must(c.SetMetadata(ctx, &container.SetMetadataOptions{Metadata: pairs}))
	}
	race(func(n int) {
		for range rounds {
			set(map[string]*string{"a": to(strconv.Itoa(n)), "b": to(strconv.Itoa(n))})
		}
	})
	metadata := must(c.GetProperties(ctx, nil)).Metadata
	equal(*metadata["A"], *metadata["B"])
	set(map[string]*string{"a": to("last")})
	equal(*must(c.GetProperties(ctx, nil)).Metadata["A"], "last")
}

func sharedAccess() {
	c := newContainer("sas")
	must(upload(c.NewBlockBlobClient("b"), "shared", nil))
	url := must(c.GetSASURL(sas.ContainerPermissions{Read: true, List: true}, time.Now().Add(time.Hour), nil))
	guest := must(container.NewClientWithNoCredential(url, nil))
	equal(text(guest.NewBlockBlobClient("b")), "shared")
	equal(names(guest), []string{"b"})
	refused[blockblob.UploadResponse](403, "AuthorizationPermissionMismatch")(upload(guest.NewBlockBlobClient("c"), "x", nil))
	nobody := must(container.NewClientWithNoCredential(c.URL(), nil))
	refused[container.GetPropertiesResponse](401, "NoAuthenticationInformation")(nobody.GetProperties(ctx, nil))
}
