// SPDX-License-Identifier: Apache-2.0
// Tables and entities.
package main

import (
	"encoding/json"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func tableService() *aztables.ServiceClient {
	return must(aztables.NewServiceClientFromConnectionString(connection, nil))
}

func newTable(name string) *aztables.Client {
	must(tableService().CreateTable(ctx, name, nil))
	return tableService().NewClient(name)
}

func entity(partition, row string, properties map[string]any) []byte {
	all := map[string]any{"PartitionKey": partition, "RowKey": row}
	for name, value := range properties {
		all[name] = value
	}
	return must(json.Marshal(all))
}

func get(table *aztables.Client, partition, row string) (map[string]any, azcore.ETag) {
	answer := must(table.GetEntity(ctx, partition, row, nil))
	out := map[string]any{}
	check(json.Unmarshal(answer.Value, &out))
	return out, answer.ETag
}

func query(table *aztables.Client, filter string, top int32) (pages []int) {
	options := &aztables.ListEntitiesOptions{Filter: &filter}
	if top > 0 {
		options.Top = &top
	}
	for pager := table.NewListEntitiesPager(options); pager.More(); {
		pages = append(pages, len(must(pager.NextPage(ctx)).Entities))
	}
	return pages
}

func update(table *aztables.Client, mode aztables.UpdateMode, etag azcore.ETag, entity []byte) (aztables.UpdateEntityResponse, error) {
	return table.UpdateEntity(ctx, entity, &aztables.UpdateEntityOptions{IfMatch: &etag, UpdateMode: mode})
}

func tableEveryday() {
	table := newTable("Everyday")
	tables := must(tableService().NewListTablesPager(&aztables.ListTablesOptions{Filter: to("TableName eq 'Everyday'")}).NextPage(ctx)).Tables
	equal(*tables[0].Name, "Everyday")
	typed := aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: "p", RowKey: "r"}, Properties: map[string]any{"text": "T", "number": int32(7), "big": aztables.EDMInt64(1 << 40),
		"real": 1.5, "yes": true, "bytes": aztables.EDMBinary{0, 1}, "id": aztables.EDMGUID(other)}}
	must(table.AddEntity(ctx, must(json.Marshal(typed)), nil))
	var back aztables.EDMEntity
	check(json.Unmarshal(must(table.GetEntity(ctx, "p", "r", nil)).Value, &back))
	equal(back.Properties, typed.Properties)
	refused[aztables.AddEntityResponse](409, "EntityAlreadyExists")(table.AddEntity(ctx, entity("p", "r", nil), nil))
	must(update(table, aztables.UpdateModeMerge, azcore.ETagAny, entity("p", "r", map[string]any{"number": 8})))
	merged, _ := get(table, "p", "r")
	equal([]any{merged["text"], merged["number"]}, []any{"T", 8.0})
	must(update(table, aztables.UpdateModeReplace, azcore.ETagAny, entity("p", "r", map[string]any{"number": 9})))
	replaced, _ := get(table, "p", "r")
	equal([]any{replaced["text"], replaced["number"]}, []any{nil, 9.0})
	var actions []aztables.TransactionAction
	for i := range 100 {
		actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertMerge, Entity: entity("q", fmt.Sprintf("%04d", i), map[string]any{"n": i})})
	}
	must(table.SubmitTransaction(ctx, actions, nil))
	equal(query(table, "PartitionKey eq 'q' and n ge 90 and n lt 95", 0), []int{5})
	equal(query(table, "PartitionKey ge 'p'", 60), []int{60, 41})
	// The library tells the status of the whole answer, not that of the part that was refused.
	refused[aztables.TransactionResponse](202, "")(table.SubmitTransaction(ctx, []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeAdd, Entity: entity("q", "new", nil)}, {ActionType: aztables.TransactionTypeAdd, Entity: entity("q", "0001", nil)}}, nil))
	refused[aztables.GetEntityResponse](404, "ResourceNotFound")(table.GetEntity(ctx, "q", "new", nil))
	must(table.DeleteEntity(ctx, "p", "r", nil))
	refused[aztables.GetEntityResponse](404, "ResourceNotFound")(table.GetEntity(ctx, "p", "r", nil))
	must(table.Delete(ctx, nil))
}

func tableOptimistic() {
	table := newTable("Optimistic")
	must(table.AddEntity(ctx, entity("p", "r", map[string]any{"email": "one"}), nil))
	_, old := get(table, "p", "r")
	must(update(table, aztables.UpdateModeReplace, azcore.ETagAny, entity("p", "r", map[string]any{"email": "two"})))
	for _, mode := range []aztables.UpdateMode{aztables.UpdateModeReplace, aztables.UpdateModeMerge} {
		refused[aztables.UpdateEntityResponse](412, "UpdateConditionNotSatisfied")(update(table, mode, old, entity("p", "r", map[string]any{"email": "three"})))
	}
	refused[aztables.DeleteEntityResponse](412, "UpdateConditionNotSatisfied")(table.DeleteEntity(ctx, "p", "r", &aztables.DeleteEntityOptions{IfMatch: &old}))
	now, etag := get(table, "p", "r")
	equal(now["email"], "two")
	must(update(table, aztables.UpdateModeReplace, etag, entity("p", "r", map[string]any{"email": "four"})))
	_, etag = get(table, "p", "r")
	must(table.DeleteEntity(ctx, "p", "r", &aztables.DeleteEntityOptions{IfMatch: &etag}))
}

func tableAny() {
	table := newTable("Any")
	must(table.AddEntity(ctx, entity("p", "r", map[string]any{"email": "one"}), nil))
	must(update(table, aztables.UpdateModeReplace, azcore.ETagAny, entity("p", "r", map[string]any{"email": "two"})))
	got, _ := get(table, "p", "r")
	equal(got["email"], "two")
	race(func(n int) {
		for range rounds {
			must(table.UpsertEntity(ctx, entity("p", "r", map[string]any{"a": n, "b": n}), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace}))
		}
	})
	got, _ = get(table, "p", "r")
	equal(got["a"], got["b"])
	must(table.UpsertEntity(ctx, entity("p", "new", map[string]any{"a": 1}), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge}))
	refused[aztables.UpdateEntityResponse](404, "ResourceNotFound")(update(table, aztables.UpdateModeReplace, azcore.ETagAny, entity("p", "absent", nil)))
	must(table.DeleteEntity(ctx, "p", "r", &aztables.DeleteEntityOptions{IfMatch: to(azcore.ETagAny)}))
}

func tableRace() {
	table := newTable("Race")
	must(table.AddEntity(ctx, entity("p", "counter", map[string]any{"n": 0}), nil))
	race(func(int) {
		for done := 0; done < rounds; {
			now, etag := get(table, "p", "counter")
			_, err := update(table, aztables.UpdateModeReplace, etag, entity("p", "counter", map[string]any{"n": now["n"].(float64) + 1}))
			if err == nil {
				done++
			} else if !isCode(err, "UpdateConditionNotSatisfied") {
				panic(err)
			}
		}
	})
	now, _ := get(table, "p", "counter")
	equal(now["n"], float64(clients*rounds))
}
