// SPDX-License-Identifier: Apache-2.0
// The suite of test/sdks (cases.mjs names the cases) with the official Java libraries. A line a case: "ok NAME" or "not ok NAME: why".
// AZURE_STORAGE_CONNECTION_STRING names an empty server, ZAFFRE_ADMIN its admin listener, whose clock is moved.
import com.azure.core.exception.HttpResponseException;
import com.azure.data.tables.models.TableServiceException;
import com.azure.storage.blob.models.BlobStorageException;
import com.azure.storage.file.share.models.ShareStorageException;
import com.azure.storage.queue.models.QueueStorageException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntConsumer;

final class Suite {
	static final String CONNECTION = System.getenv("AZURE_STORAGE_CONNECTION_STRING");
	static final int CLIENTS = 8;
	static final int ROUNDS = 10;
	static final String OTHER = "6fa459ea-ee8a-3ca4-894e-db77e160355e"; // somebody else's lease

	static void equal(Object got, Object want) {
		if (!Objects.deepEquals(got, want)) throw new AssertionError(got + " instead of " + want);
	}

	static String code(HttpResponseException e) {
		if (e instanceof BlobStorageException b) return String.valueOf(b.getErrorCode());
		if (e instanceof QueueStorageException q) return String.valueOf(q.getErrorCode());
		if (e instanceof ShareStorageException s) return String.valueOf(s.getErrorCode());
		if (e instanceof TableServiceException t) return String.valueOf(t.getValue().getErrorCode());
		return e.getMessage();
	}

	static void refused(int status, String code, Runnable call) {
		try {
			call.run();
		} catch (HttpResponseException e) {
			equal(e.getResponse().getStatusCode() + " " + code(e), status + " " + code);
			return;
		}
		throw new AssertionError(code + " was expected, and it succeeded");
	}

	/** True if it succeeded, false if it was refused with this code; anything else is thrown. */
	static boolean wins(String loserCode, Runnable call) {
		try {
			call.run();
			return true;
		} catch (HttpResponseException e) {
			if (!code(e).equals(loserCode)) throw e;
			return false;
		}
	}

	static void advance(int seconds) {
		try {
			var uri = URI.create(System.getenv("ZAFFRE_ADMIN").replaceAll("/$", "") + "/test/clock?advance=" + seconds);
			var answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(uri).POST(HttpRequest.BodyPublishers.noBody()).build(), HttpResponse.BodyHandlers.ofString());
			equal(answer.statusCode(), 200);
		} catch (Exception e) {
			throw new RuntimeException(e);
		}
	}

	/** Runs work(number) in all clients at once; what one of them throws is thrown here. */
	static void race(IntConsumer work) {
		var start = new CountDownLatch(1);
		List<Throwable> failures = new ArrayList<>();
		List<Thread> threads = new ArrayList<>();
		for (int i = 0; i < CLIENTS; i++) {
			int n = i;
			var thread = new Thread(() -> {
				try {
					start.await();
					work.accept(n);
				} catch (Throwable e) {
					synchronized (failures) {
						failures.add(e);
					}
				}
			});
			thread.start();
			threads.add(thread);
		}
		start.countDown();
		try {
			for (var thread : threads) thread.join();
		} catch (InterruptedException e) {
			throw new RuntimeException(e);
		}
		if (!failures.isEmpty()) throw new RuntimeException(failures.get(0));
	}

	static void times(Runnable work) {
		for (int i = 0; i < ROUNDS; i++) work.run();
	}

	static byte[] repeated(int n) {
		var out = new byte[1000];
		Arrays.fill(out, (byte) ('A' + n));
		return out;
	}

	static void uniform(byte[] bytes) {
		equal(bytes.length, 1000);
		for (byte b : bytes) equal(b, bytes[0]);
	}

	public static void main(String[] args) {
		Map<String, Runnable> cases = new LinkedHashMap<>();
		Blobs.cases(cases);
		Tables.cases(cases);
		Queues.cases(cases);
		Files.cases(cases);
		boolean good = true;
		for (var entry : cases.entrySet()) {
			try {
				entry.getValue().run();
				System.out.println("ok " + entry.getKey());
			} catch (Throwable e) { // every case is run, whatever the others do
				good = false;
				e.printStackTrace();
				String why = String.valueOf(e.getMessage()).replaceAll("\\s+", " ");
				System.out.println("not ok " + entry.getKey() + ": " + why.substring(0, Math.min(300, why.length())));
			}
		}
		System.exit(good ? 0 : 1);
	}
}
