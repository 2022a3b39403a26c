// SPDX-License-Identifier: Apache-2.0
// Blobs and containers.
import static com.azure.core.util.BinaryData.fromString;

import com.azure.core.util.BinaryData;
import com.azure.core.util.Context;
import com.azure.storage.blob.BlobClient;
import com.azure.storage.blob.BlobContainerClient;
import com.azure.storage.blob.BlobContainerClientBuilder;
import com.azure.storage.blob.BlobServiceClient;
import com.azure.storage.blob.BlobServiceClientBuilder;
import com.azure.storage.blob.models.AppendBlobRequestConditions;
import com.azure.storage.blob.models.BlobHttpHeaders;
import com.azure.storage.blob.models.BlobRange;
import com.azure.storage.blob.models.BlobRequestConditions;
import com.azure.storage.blob.models.BlockListType;
import com.azure.storage.blob.models.CopyStatusType;
import com.azure.storage.blob.models.DeleteSnapshotsOptionType;
import com.azure.storage.blob.models.LeaseStateType;
import com.azure.storage.blob.models.ListBlobsOptions;
import com.azure.storage.blob.models.PageRange;
import com.azure.storage.blob.models.ParallelTransferOptions;
import com.azure.storage.blob.options.BlobParallelUploadOptions;
import com.azure.storage.blob.sas.BlobContainerSasPermission;
import com.azure.storage.blob.sas.BlobServiceSasSignatureValues;
import com.azure.storage.blob.specialized.BlobLeaseClient;
import com.azure.storage.blob.specialized.BlobLeaseClientBuilder;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.ArrayList;

final class Blobs {
	static final BlobServiceClient SERVICE = new BlobServiceClientBuilder().connectionString(Suite.CONNECTION).buildClient();
	static final OffsetDateTime PAST = OffsetDateTime.parse("2020-01-01T00:00:00Z");

	static void cases(Map<String, Runnable> all) {
		all.put("blob everyday", Blobs::everyday);
		all.put("blob optimistic", Blobs::optimistic);
		all.put("blob pessimistic", Blobs::pessimistic);
		all.put("blob last writer wins", Blobs::lastWriter);
		all.put("blob race", Blobs::race);
		all.put("container optimistic", Blobs::containerOptimistic);
		all.put("container pessimistic", Blobs::containerPessimistic);
		all.put("container last writer wins", Blobs::containerLastWriter);
		all.put("shared access signature", Blobs::sharedAccess);
	}

	static String text(BlobClient blob) {
		return blob.downloadContent().toString();
	}

	/** Uploads under conditions; returns the new ETag. */
	static String upload(BlobClient blob, String text, BlobRequestConditions conditions) {
		return blob.uploadWithResponse(new BlobParallelUploadOptions(fromString(text)).setRequestConditions(conditions), null, Context.NONE).getValue().getETag();
	}

	static BlobRequestConditions ifMatch(String etag) {
		return new BlobRequestConditions().setIfMatch(etag);
	}

	static BlobRequestConditions lease(String id) {
		return new BlobRequestConditions().setLeaseId(id);
	}

	static List<String> names(BlobContainerClient c) {
		return c.listBlobs().stream().map(b -> b.getName()).toList();
	}

	static void everyday() {
		var c = SERVICE.getBlobContainerClient("everyday");
		c.createWithResponse(Map.of("purpose", "test"), null, null, Context.NONE);
		Suite.equal(c.getProperties().getMetadata().get("purpose"), "test");
		var b = c.getBlobClient("a/hello.txt");
		b.uploadWithResponse(new BlobParallelUploadOptions(fromString("Hello")).setMetadata(Map.of("k", "v")).setTags(Map.of("team", "red"))
			.setHeaders(new BlobHttpHeaders().setContentType("text/plain")), null, Context.NONE);
		Suite.equal(text(b), "Hello");
		var part = new ByteArrayOutputStream();
		b.downloadStreamWithResponse(part, new BlobRange(1, 3L), null, null, false, null, Context.NONE);
		Suite.equal(part.toString(), "ell");
		var properties = b.getProperties();
		Suite.equal(properties.getBlobSize() + properties.getContentType() + properties.getMetadata().get("k"), "5text/plainv");
		b.setMetadata(Map.of("k", "w"));
		b.setHttpHeaders(new BlobHttpHeaders().setContentType("text/css"));
		b.setTags(Map.of("team", "blue"));
		Suite.equal(b.getTags(), Map.of("team", "blue"));
		Suite.equal(SERVICE.findBlobsByTags("\"team\"='blue'").stream().map(t -> t.getName()).toList(), List.of("a/hello.txt"));
		blocksAndLarge(c);
		otherKinds(c);
		var snapshot = b.createSnapshot().getSnapshotId();
		b.upload(fromString("Changed"), true);
		Suite.equal(text(b.getSnapshotClient(snapshot)), "Hello");
		var copy = c.getBlobClient("copy");
		Suite.equal(copy.beginCopy(b.getBlobUrl(), Duration.ofSeconds(1)).waitForCompletion().getValue().getCopyStatus(), CopyStatusType.SUCCESS);
		Suite.equal(text(copy), "Changed");
		Suite.equal(names(c), List.of("a/hello.txt", "blocks", "copy", "disk", "large", "log"));
		// The library shows prefixes behind blobs.
		Suite.equal(c.listBlobsByHierarchy("").stream().map(i -> i.getName()).sorted().toList(), List.of("a/", "blocks", "copy", "disk", "large", "log"));
		List<Integer> pages = new ArrayList<>();
		c.listBlobs(new ListBlobsOptions().setMaxResultsPerPage(2), null).iterableByPage().forEach(p -> pages.add(p.getValue().size()));
		Suite.equal(pages, List.of(2, 2, 2));
		Suite.refused(409, "SnapshotsPresent", b::delete);
		b.deleteWithResponse(DeleteSnapshotsOptionType.INCLUDE, null, null, Context.NONE);
		Suite.refused(404, "BlobNotFound", b::getProperties);
		c.delete();
		Suite.refused(404, "ContainerNotFound", c::getProperties);
	}

	static void blocksAndLarge(BlobContainerClient c) {
		var blocks = c.getBlobClient("blocks").getBlockBlobClient();
		List<String> ids = new ArrayList<>();
		for (String n : List.of("1", "2", "3")) {
			ids.add(Base64.getEncoder().encodeToString(n.getBytes()));
			blocks.stageBlock(ids.get(ids.size() - 1), fromString("block" + n));
		}
		blocks.commitBlockList(List.of(ids.get(2), ids.get(0)), true);
		Suite.equal(text(c.getBlobClient("blocks")), "block3block1");
		Suite.equal(blocks.listBlocks(BlockListType.ALL).getCommittedBlocks().size(), 2);
		var large = new byte[9_000_000];
		new Random(1).nextBytes(large);
		var b = c.getBlobClient("large");
		b.uploadWithResponse(new BlobParallelUploadOptions(BinaryData.fromBytes(large)).setParallelTransferOptions(
			new ParallelTransferOptions().setBlockSizeLong(1L << 20).setMaxSingleUploadSizeLong(1L << 20).setMaxConcurrency(4)), null, Context.NONE);
		Suite.equal(b.downloadContent().toBytes(), large);
	}

	static void otherKinds(BlobContainerClient c) {
		var log = c.getBlobClient("log").getAppendBlobClient();
		log.create();
		log.appendBlock(new ByteArrayInputStream("one,".getBytes()), 4);
		var at = new AppendBlobRequestConditions().setAppendPosition(4L);
		Suite.equal(log.appendBlockWithResponse(new ByteArrayInputStream("two".getBytes()), 3, null, at, null, Context.NONE).getValue().getBlobAppendOffset(), "4");
		Suite.refused(412, "AppendPositionConditionNotMet", () -> log.appendBlockWithResponse(new ByteArrayInputStream("x".getBytes()), 1, null, at, null, Context.NONE));
		Suite.equal(text(c.getBlobClient("log")), "one,two");
		var disk = c.getBlobClient("disk").getPageBlobClient();
		disk.create(4096);
		disk.uploadPages(new PageRange().setStart(1024).setEnd(1535), new ByteArrayInputStream(new byte[512]));
		var range = disk.listPageRanges(new BlobRange(0)).stream().findFirst().orElseThrow().getRange();
		Suite.equal(List.of(range.getOffset(), range.getLength()), List.of(1024L, 512L));
	}

	static void optimistic() {
		var b = SERVICE.createBlobContainer("optimistic").getBlobClient("b");
		String first = upload(b, "one", null);
		String thirdParty = upload(b, "two", null);
		if (first.equals(thirdParty)) throw new AssertionError("the ETag stayed");
		Suite.refused(412, "ConditionNotMet", () -> upload(b, "three", ifMatch(first)));
		Suite.equal(text(b), "two");
		String mine = upload(b, "three", ifMatch(thirdParty));
		Suite.refused(409, "BlobAlreadyExists", () -> b.upload(fromString("four")));
		Suite.refused(412, "ConditionNotMet", () -> b.setMetadataWithResponse(Map.of("a", "b"), ifMatch(first), null, Context.NONE));
		Suite.refused(304, "ConditionNotMet", () -> b.downloadContentWithResponse(null, new BlobRequestConditions().setIfNoneMatch(mine), null, Context.NONE));
		Suite.refused(412, "ConditionNotMet", () -> b.deleteWithResponse(null, ifMatch(first), null, Context.NONE));
		Suite.refused(412, "ConditionNotMet", () -> upload(b, "five", new BlobRequestConditions().setIfUnmodifiedSince(PAST)));
		b.deleteWithResponse(null, ifMatch(mine), null, Context.NONE);
	}

	static BlobLeaseClient leaseOf(BlobClient b) {
		return new BlobLeaseClientBuilder().blobClient(b).buildClient();
	}

	static void pessimistic() {
		var b = SERVICE.createBlobContainer("pessimistic").getBlobClient("b");
		String before = upload(b, "one", null);
		var holder = leaseOf(b);
		holder.acquireLease(15);
		Suite.equal(b.getProperties().getETag().replace("\"", ""), before.replace("\"", ""));
		Suite.refused(412, "LeaseIdMissing", () -> upload(b, "two", null));
		Suite.refused(412, "LeaseIdMismatchWithBlobOperation", () -> upload(b, "two", lease(Suite.OTHER)));
		Suite.refused(409, "LeaseAlreadyPresent", () -> leaseOf(b).acquireLease(15));
		Suite.equal(text(b), "one");
		upload(b, "two", lease(holder.getLeaseId()));
		holder.renewLease();
		Suite.advance(16);
		Suite.refused(412, "LeaseLost", () -> upload(b, "three", lease(holder.getLeaseId())));
		upload(b, "three", null);
		var second = leaseOf(b);
		second.acquireLease(-1);
		second.changeLease(Suite.OTHER);
		Suite.equal(second.getLeaseId(), Suite.OTHER);
		Suite.equal(b.getProperties().getLeaseState(), LeaseStateType.LEASED);
		second.releaseLease();
		var third = leaseOf(b);
		third.acquireLease(60);
		third.breakLeaseWithResponse(0, null, null, Context.NONE);
		Suite.equal(b.getProperties().getLeaseState(), LeaseStateType.BROKEN);
		b.delete();
	}

	static void lastWriter() {
		var b = SERVICE.createBlobContainer("lastwriter").getBlobClient("b");
		Suite.race(n -> Suite.times(() -> b.upload(BinaryData.fromBytes(Suite.repeated(n)), true)));
		Suite.uniform(b.downloadContent().toBytes());
		b.upload(fromString("last"), true);
		Suite.equal(text(b), "last");
	}

	static void race() {
		var c = SERVICE.createBlobContainer("race");
		upload(c.getBlobClient("counter"), "0", null);
		Suite.race(n -> {
			var own = new BlobServiceClientBuilder().connectionString(Suite.CONNECTION).buildClient().getBlobContainerClient("race").getBlobClient("counter");
			for (int done = 0; done < Suite.ROUNDS;) {
				var now = own.downloadContentWithResponse(null, null, null, Context.NONE);
				String next = String.valueOf(Integer.parseInt(now.getValue().toString()) + 1);
				if (Suite.wins("ConditionNotMet", () -> upload(own, next, ifMatch(now.getDeserializedHeaders().getETag())))) done++;
			}
		});
		Suite.equal(text(c.getBlobClient("counter")), String.valueOf(Suite.CLIENTS * Suite.ROUNDS));
		var one = c.getBlobClient("one");
		List<String> winners = Collections.synchronizedList(new ArrayList<>()), holders = Collections.synchronizedList(new ArrayList<>());
		Suite.race(n -> {
			if (Suite.wins("BlobAlreadyExists", () -> one.upload(fromString(String.valueOf(n))))) winners.add(String.valueOf(n));
		});
		Suite.equal(winners, List.of(text(one)));
		Suite.race(n -> {
			var holder = leaseOf(one);
			if (Suite.wins("LeaseAlreadyPresent", () -> holder.acquireLease(-1))) holders.add(holder.getLeaseId());
		});
		Suite.equal(holders.size(), 1);
	}

	static void containerOptimistic() {
		var c = SERVICE.createBlobContainer("coptimistic");
		String before = c.getProperties().getETag();
		c.setMetadata(Map.of("a", "1"));
		if (before.equals(c.getProperties().getETag())) throw new AssertionError("the ETag stayed");
		Suite.refused(412, "ConditionNotMet", () -> c.deleteWithResponse(new BlobRequestConditions().setIfUnmodifiedSince(PAST), null, Context.NONE));
		c.deleteWithResponse(new BlobRequestConditions().setIfModifiedSince(PAST), null, Context.NONE);
	}

	static void containerPessimistic() {
		var c = SERVICE.createBlobContainer("cpessimistic");
		var holder = new BlobLeaseClientBuilder().containerClient(c).buildClient();
		var second = new BlobLeaseClientBuilder().containerClient(c).buildClient();
		holder.acquireLease(15);
		Suite.refused(409, "LeaseAlreadyPresent", () -> second.acquireLease(15));
		Suite.refused(412, "LeaseIdMissing", c::delete);
		c.setMetadata(Map.of("shared", "yes"));
		c.getBlobClient("b").upload(fromString("anyone"));
		Suite.refused(412, "LeaseIdMismatchWithContainerOperation", () -> c.setMetadataWithResponse(Map.of("a", "b"), lease(Suite.OTHER), null, Context.NONE));
		Suite.advance(16);
		Suite.refused(412, "LeaseLost", () -> c.deleteWithResponse(lease(holder.getLeaseId()), null, Context.NONE));
		second.acquireLease(-1);
		c.deleteWithResponse(lease(second.getLeaseId()), null, Context.NONE);
	}

	static void containerLastWriter() {
		var c = SERVICE.createBlobContainer("clastwriter");
		Suite.race(n -> Suite.times(() -> c.setMetadata(Map.of("a", String.valueOf(n), "b", String.valueOf(n)))));
		var metadata = c.getProperties().getMetadata();
		Suite.equal(metadata.get("a"), metadata.get("b"));
		c.setMetadata(Map.of("a", "last"));
		Suite.equal(c.getProperties().getMetadata(), Map.of("a", "last"));
	}

	static void sharedAccess() {
		var c = SERVICE.createBlobContainer("sas");
		c.getBlobClient("b").upload(fromString("shared"));
		String token = c.generateSas(new BlobServiceSasSignatureValues(OffsetDateTime.now().plusHours(1), new BlobContainerSasPermission().setReadPermission(true).setListPermission(true)));
		var guest = new BlobContainerClientBuilder().endpoint(c.getBlobContainerUrl() + "?" + token).buildClient();
		Suite.equal(text(guest.getBlobClient("b")), "shared");
		Suite.equal(names(guest), List.of("b"));
		Suite.refused(403, "AuthorizationPermissionMismatch", () -> guest.getBlobClient("c").upload(fromString("x")));
		var nobody = new BlobContainerClientBuilder().endpoint(c.getBlobContainerUrl()).buildClient();
		Suite.refused(401, "NoAuthenticationInformation", nobody::getProperties);
	}
}
