// SPDX-License-Identifier: Apache-2.0
// Queues and messages.
package main

import (
	"fmt"
	"sort"
	"strconv"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
)

func queueService() *azqueue.ServiceClient {
	return must(azqueue.NewServiceClientFromConnectionString(connection, nil))
}

func newQueue(name string) *azqueue.QueueClient {
	queue := queueService().NewQueueClient(name)
	must(queue.Create(ctx, nil))
	return queue
}

func receive(queue *azqueue.QueueClient, seconds int32) *azqueue.DequeuedMessage {
	messages := must(queue.DequeueMessage(ctx, &azqueue.DequeueMessageOptions{VisibilityTimeout: &seconds})).Messages
	if len(messages) == 0 {
		return nil
	}
	return messages[0]
}

func waiting(queue *azqueue.QueueClient) int32 {
	return *must(queue.GetProperties(ctx, nil)).ApproximateMessagesCount
}

func queueEveryday() {
	queue := queueService().NewQueueClient("everyday")
	must(queue.Create(ctx, &azqueue.CreateOptions{Metadata: map[string]*string{"a": to("b")}}))
	page := must(queueService().NewListQueuesPager(&azqueue.ListQueuesOptions{Prefix: to("every")}).NextPage(ctx))
	equal(*page.Queues[0].Name, "everyday")
	sent := must(queue.EnqueueMessage(ctx, "one", nil)).Messages[0]
	must(queue.EnqueueMessage(ctx, "&lt;two", nil))
	equal(waiting(queue), int32(2))
	equal(len(must(queue.PeekMessages(ctx, &azqueue.PeekMessagesOptions{NumberOfMessages: to(int32(5))})).Messages), 2)
	got := receive(queue, 30)
	equal([]any{*got.MessageID, *got.MessageText, *got.DequeueCount}, []any{*sent.MessageID, "one", int64(1)})
	updated := must(queue.UpdateMessage(ctx, *got.MessageID, *got.PopReceipt, "changed", &azqueue.UpdateMessageOptions{VisibilityTimeout: to(int32(0))}))
	refused[azqueue.DeleteMessageResponse](404, "MessageNotFound")(queue.DeleteMessage(ctx, *got.MessageID, *got.PopReceipt, nil))
	must(queue.DeleteMessage(ctx, *got.MessageID, *updated.PopReceipt, nil))
	must(queue.ClearMessages(ctx, nil))
	equal(waiting(queue), int32(0))
	must(queue.Delete(ctx, nil))
	refused[azqueue.GetQueuePropertiesResponse](404, "QueueNotFound")(queue.GetProperties(ctx, nil))
}

func queueVisibility() {
	queue := newQueue("visibility")
	must(queue.EnqueueMessage(ctx, "work", nil))
	first := receive(queue, 30)
	if receive(queue, 30) != nil {
		fail("received twice")
	}
	advance(31)
	second := receive(queue, 30)
	equal([]any{*second.MessageID, *second.DequeueCount}, []any{*first.MessageID, int64(2)})
	refused[azqueue.DeleteMessageResponse](404, "MessageNotFound")(queue.DeleteMessage(ctx, *first.MessageID, *first.PopReceipt, nil))
	must(queue.DeleteMessage(ctx, *second.MessageID, *second.PopReceipt, nil))
	advance(31)
	if receive(queue, 30) != nil {
		fail("received after it was deleted")
	}
	refused[azqueue.DeleteMessageResponse](404, "MessageNotFound")(queue.DeleteMessage(ctx, *second.MessageID, *second.PopReceipt, nil))
}

func queueRace() {
	queue := newQueue("race")
	var want []string
	for i := range clients * rounds {
		want = append(want, fmt.Sprintf("m%03d", i))
		must(queue.EnqueueMessage(ctx, want[i], nil))
	}
	var seen list[string]
	race(func(int) {
		for {
			batch := must(queue.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: to(int32(3)), VisibilityTimeout: to(int32(600))})).Messages
			if len(batch) == 0 {
				return
			}
			for _, m := range batch {
				seen.add(*m.MessageText)
				must(queue.DeleteMessage(ctx, *m.MessageID, *m.PopReceipt, nil))
			}
		}
	})
	sort.Strings(seen.items)
	equal(seen.items, want)
	equal(waiting(queue), int32(0))
}

func queueLastWriter() {
	queue := newQueue("lastwriter")
	set := func(pairs map[string]*string) {
		must(queue.SetMetadata(ctx, &azqueue.SetMetadataOptions{Metadata: pairs}))
	}
	race(func(n int) {
		for range rounds {
			set(map[string]*string{"a": to(strconv.Itoa(n)), "b": to(strconv.Itoa(n))})
		}
	})
	metadata := must(queue.GetProperties(ctx, nil)).Metadata
	equal(*metadata["A"], *metadata["B"])
	set(map[string]*string{"a": to("last")})
	equal(*must(queue.GetProperties(ctx, nil)).Metadata["A"], "last")
}
