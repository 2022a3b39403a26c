// SPDX-License-Identifier: Apache-2.0
// Shares, directories and files over REST.
import com.azure.core.http.HttpPipelineCallContext;
import com.azure.core.http.HttpPipelineNextPolicy;
import com.azure.core.http.HttpPipelineNextSyncPolicy;
import com.azure.core.http.HttpPipelinePosition;
import com.azure.core.http.HttpResponse;
import com.azure.core.http.policy.HttpPipelinePolicy;
import com.azure.core.util.Context;
import com.azure.storage.file.share.ShareClient;
import com.azure.storage.file.share.ShareDirectoryClient;
import com.azure.storage.file.share.ShareFileClient;
import com.azure.storage.file.share.ShareServiceClient;
import com.azure.storage.file.share.ShareServiceClientBuilder;
import com.azure.storage.file.share.models.ShareFileRange;
import com.azure.storage.file.share.models.ShareFileUploadRangeOptions;
import com.azure.storage.file.share.models.ShareRequestConditions;
import com.azure.storage.file.share.models.ShareSnapshotsDeleteOptionType;
import com.azure.storage.file.share.options.ShareCreateOptions;
import com.azure.storage.file.share.options.ShareDeleteOptions;
import com.azure.storage.file.share.specialized.ShareLeaseClient;
import com.azure.storage.file.share.specialized.ShareLeaseClientBuilder;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import reactor.core.publisher.Mono;

final class Files {
	// This library keeps scheme and host of an endpoint and drops its port and path, so each request is led to where the connection string says.
	static final String ENDPOINT = Suite.CONNECTION.replaceAll("(?s).*FileEndpoint=([^;]*).*", "$1");
	static final ShareServiceClient SERVICE = new ShareServiceClientBuilder().connectionString(Suite.CONNECTION).addPolicy(new HttpPipelinePolicy() {
		@Override
		public Mono<HttpResponse> process(HttpPipelineCallContext context, HttpPipelineNextPolicy next) {
			lead(context);
			return next.process();
		}

		@Override
		public HttpResponse processSync(HttpPipelineCallContext context, HttpPipelineNextSyncPolicy next) {
			lead(context);
			return next.processSync();
		}

		@Override
		public HttpPipelinePosition getPipelinePosition() {
			return HttpPipelinePosition.PER_CALL; // before it is signed
		}
	}).buildClient();

	static void lead(HttpPipelineCallContext context) {
		var request = context.getHttpRequest();
		request.setUrl(request.getUrl().toString().replaceFirst("^http://[^/]*", ENDPOINT));
	}

	static void cases(Map<String, Runnable> all) {
		all.put("file everyday", Files::everyday);
		all.put("file last writer wins", Files::lastWriter);
		all.put("file lease", Files::lease);
		all.put("file race", Files::race);
	}

	static byte[] content(ShareFileClient f) {
		var out = new ByteArrayOutputStream();
		f.download(out);
		return out.toByteArray();
	}

	static void write(ShareFileClient f, long offset, byte[] bytes, String leaseId) {
		var options = new ShareFileUploadRangeOptions(new ByteArrayInputStream(bytes), bytes.length).setOffset(offset);
		if (leaseId != null) options.setRequestConditions(new ShareRequestConditions().setLeaseId(leaseId));
		f.uploadRangeWithResponse(options, null, Context.NONE);
	}

	static void replace(ShareFileClient f, String text) {
		f.create(text.length());
		write(f, 0, text.getBytes(), null);
	}

	static List<String> entries(ShareDirectoryClient d, String prefix) {
		return d.listFilesAndDirectories(prefix, null, null, Context.NONE).stream().map(e -> e.getName() + (e.isDirectory() ? "/" : "")).sorted().toList();
	}

	static void everyday() {
		var s = SERVICE.createShareWithResponse("everyday", new ShareCreateOptions().setMetadata(Map.of("a", "b")).setQuotaInGb(5), null, Context.NONE).getValue();
		Suite.equal(s.getProperties().getQuota() + s.getProperties().getMetadata().get("a"), "5b");
		var d = s.createDirectory("dir");
		var f = d.getFileClient("Hello.txt");
		replace(f, "Hello");
		Suite.equal(new String(content(f)), "Hello");
		Suite.equal(s.getFileClient("DIR/hello.TXT").getProperties().getContentLength(), 5L);
		f.setMetadata(Map.of("k", "w"));
		Suite.equal(f.getProperties().getMetadata(), Map.of("k", "w"));
		write(f, 0, "J".getBytes(), null);
		Suite.equal(new String(content(f)), "Jello");
		f.setProperties(2048, null, null, null);
		f.clearRangeWithResponse(512, 512, null, Context.NONE);
		write(f, 1024, new byte[512], null);
		List<ShareFileRange> ranges = f.listRanges().stream().toList();
		var last = ranges.get(ranges.size() - 1);
		Suite.equal(List.of(last.getStart(), last.getEnd()), List.of(1024L, 1535L));
		var bytes = new byte[9_000_000];
		new Random(1).nextBytes(bytes);
		var large = s.getFileClient("large");
		large.create(bytes.length);
		large.upload(new ByteArrayInputStream(bytes), bytes.length, null);
		Suite.equal(content(large), bytes);
		moves(s, d, f);
	}

	static void moves(ShareClient s, ShareDirectoryClient d, ShareFileClient f) {
		var snapshot = s.createSnapshot().getSnapshot();
		replace(f, "Changed");
		Suite.equal(s.getSnapshotClient(snapshot).getFileClient("dir/Hello.txt").getProperties().getContentLength(), 2048L);
		var copy = s.getFileClient("copy");
		copy.beginCopy(ENDPOINT + "/everyday/dir/Hello.txt", (Map<String, String>) null, Duration.ofSeconds(1)).waitForCompletion();
		Suite.equal(new String(content(copy)), "Changed");
		f.rename("dir/Renamed.txt");
		var renamed = s.getFileClient("dir/Renamed.txt"); // what rename returns reads under the old name
		Suite.equal(new String(content(renamed)), "Changed");
		Suite.equal(entries(s.getRootDirectoryClient(), null), List.of("copy", "dir/", "large"));
		Suite.refused(409, "DirectoryNotEmpty", d::delete);
		renamed.delete();
		Suite.refused(404, "ResourceNotFound", renamed::getProperties);
		d.delete();
		Suite.refused(409, "ShareHasSnapshots", s::delete);
		s.deleteWithResponse(new ShareDeleteOptions().setDeleteSnapshotsOptions(ShareSnapshotsDeleteOptionType.INCLUDE), null, Context.NONE);
	}

	static void lastWriter() {
		var f = SERVICE.createShare("lastwriter").getFileClient("f");
		f.create(1000);
		Suite.race(n -> Suite.times(() -> write(f, 0, Suite.repeated(n), null)));
		Suite.uniform(content(f));
		replace(f, "last");
		Suite.equal(new String(content(f)), "last");
	}

	static ShareLeaseClient leaseOf(ShareFileClient f) {
		return new ShareLeaseClientBuilder().fileClient(f).buildClient();
	}

	static void lease() {
		var f = SERVICE.createShare("lease").getFileClient("f");
		replace(f, "one");
		var holder = leaseOf(f);
		holder.acquireLease();
		Suite.refused(412, "LeaseIdMissing", () -> write(f, 0, "two".getBytes(), null));
		Suite.refused(409, "LeaseAlreadyPresent", () -> leaseOf(f).acquireLease());
		write(f, 0, "two".getBytes(), holder.getLeaseId());
		Suite.equal(new String(content(f)), "two");
		holder.releaseLease();
		var second = leaseOf(f);
		second.acquireLease();
		second.breakLease();
		f.delete();
	}

	static void race() {
		var s = SERVICE.createShare("race");
		List<Integer> winners = Collections.synchronizedList(new ArrayList<>());
		Suite.race(n -> {
			for (int i = 0; i < Suite.ROUNDS; i++) {
				var d = s.getDirectoryClient("d" + i);
				if (Suite.wins("ResourceAlreadyExists", d::create)) winners.add(i);
				d.getFileClient("of" + n).create(0);
			}
		});
		Suite.equal(winners.size(), Suite.ROUNDS);
		for (int i = 0; i < Suite.ROUNDS; i++) Suite.equal(entries(s.getDirectoryClient("d" + i), null).size(), Suite.CLIENTS);
		List<String> moved = Collections.synchronizedList(new ArrayList<>());
		Suite.race(n -> {
			if (Suite.wins("ResourceNotFound", () -> s.getFileClient("d0/of0").rename("moved" + n))) moved.add("moved" + n);
		});
		Suite.equal(moved.size(), 1);
		Suite.equal(entries(s.getRootDirectoryClient(), "moved"), moved);
	}
}
