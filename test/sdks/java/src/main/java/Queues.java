// SPDX-License-Identifier: Apache-2.0
// Queues and messages.
import com.azure.core.util.Context;
import com.azure.storage.queue.QueueClient;
import com.azure.storage.queue.QueueServiceClient;
import com.azure.storage.queue.QueueServiceClientBuilder;
import com.azure.storage.queue.models.QueueMessageItem;
import com.azure.storage.queue.models.QueuesSegmentOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

final class Queues {
	static final QueueServiceClient SERVICE = new QueueServiceClientBuilder().connectionString(Suite.CONNECTION).buildClient();

	static void cases(Map<String, Runnable> all) {
		all.put("queue everyday", Queues::everyday);
		all.put("queue visibility", Queues::visibility);
		all.put("queue race", Queues::race);
		all.put("queue last writer wins", Queues::lastWriter);
	}

	static List<QueueMessageItem> receive(QueueClient queue, int most, int seconds) {
		return queue.receiveMessages(most, Duration.ofSeconds(seconds), null, Context.NONE).stream().toList();
	}

	static int waiting(QueueClient queue) {
		return queue.getProperties().getApproximateMessagesCount();
	}

	static void everyday() {
		var queue = SERVICE.createQueueWithResponse("everyday", Map.of("a", "b"), null, Context.NONE).getValue();
		Suite.equal(SERVICE.listQueues(new QueuesSegmentOptions().setPrefix("every"), null, Context.NONE).stream().map(q -> q.getName()).toList(), List.of("everyday"));
		var sent = queue.sendMessage("one");
		queue.sendMessage("<&>");
		Suite.equal(waiting(queue), 2);
		Suite.equal(queue.peekMessages(5, null, Context.NONE).stream().map(m -> m.getBody().toString()).sorted().toList(), List.of("<&>", "one"));
		var got = receive(queue, 1, 30).get(0);
		Suite.equal(got.getMessageId() + got.getBody() + got.getDequeueCount(), sent.getMessageId() + "one1");
		var updated = queue.updateMessage(got.getMessageId(), got.getPopReceipt(), "changed", Duration.ZERO);
		Suite.refused(404, "MessageNotFound", () -> queue.deleteMessage(got.getMessageId(), got.getPopReceipt()));
		queue.deleteMessage(got.getMessageId(), updated.getPopReceipt());
		queue.clearMessages();
		Suite.equal(waiting(queue), 0);
		queue.delete();
		Suite.refused(404, "QueueNotFound", queue::getProperties);
	}

	static void visibility() {
		var queue = SERVICE.createQueue("visibility");
		queue.sendMessage("work");
		var first = receive(queue, 1, 30).get(0);
		Suite.equal(receive(queue, 1, 30).size(), 0);
		Suite.advance(31);
		var second = receive(queue, 1, 30).get(0);
		Suite.equal(second.getMessageId() + second.getDequeueCount(), first.getMessageId() + "2");
		Suite.refused(404, "MessageNotFound", () -> queue.deleteMessage(first.getMessageId(), first.getPopReceipt()));
		queue.deleteMessage(second.getMessageId(), second.getPopReceipt());
		Suite.advance(31);
		Suite.equal(receive(queue, 1, 30).size(), 0);
		Suite.refused(404, "MessageNotFound", () -> queue.deleteMessage(second.getMessageId(), second.getPopReceipt()));
	}

	static void race() {
		var queue = SERVICE.createQueue("race");
		List<String> want = new ArrayList<>(), seen = Collections.synchronizedList(new ArrayList<>());
		for (int i = 0; i < Suite.CLIENTS * Suite.ROUNDS; i++) {
			want.add(String.format("m%03d", i));
			queue.sendMessage(want.get(i));
		}
		Suite.race(n -> {
			for (var batch = receive(queue, 3, 600); !batch.isEmpty(); batch = receive(queue, 3, 600))
				for (var m : batch) {
					seen.add(m.getBody().toString());
					queue.deleteMessage(m.getMessageId(), m.getPopReceipt());
				}
		});
		Collections.sort(seen);
		Suite.equal(seen, want);
		Suite.equal(waiting(queue), 0);
	}

	static void lastWriter() {
		var queue = SERVICE.createQueue("lastwriter");
		Suite.race(n -> Suite.times(() -> queue.setMetadata(Map.of("a", String.valueOf(n), "b", String.valueOf(n)))));
		var metadata = queue.getProperties().getMetadata();
		Suite.equal(metadata.get("a"), metadata.get("b"));
		queue.setMetadata(Map.of("a", "last"));
		Suite.equal(queue.getProperties().getMetadata(), Map.of("a", "last"));
	}
}
