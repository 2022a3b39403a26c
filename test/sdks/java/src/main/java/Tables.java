// SPDX-License-Identifier: Apache-2.0
// Tables and entities.
import com.azure.core.util.Context;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.data.tables.models.ListEntitiesOptions;
import com.azure.data.tables.models.ListTablesOptions;
import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableEntityUpdateMode;
import com.azure.data.tables.models.TableTransactionAction;
import com.azure.data.tables.models.TableTransactionActionType;
import com.azure.data.tables.models.TableTransactionFailedException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

final class Tables {
	static final TableServiceClient SERVICE = new TableServiceClientBuilder().connectionString(Suite.CONNECTION).buildClient();

	static void cases(Map<String, Runnable> all) {
		all.put("table everyday", Tables::everyday);
		all.put("table optimistic", Tables::optimistic);
		all.put("table any ETag", Tables::any);
		all.put("table race", Tables::race);
	}

	static TableEntity entity(String partition, String row, Map<String, Object> properties) {
		return new TableEntity(partition, row).setProperties(new java.util.HashMap<>(properties));
	}

	/** Updates only if the entity is as it was read: its ETag goes along. */
	static void updateIfSame(TableClient table, TableEntity read, TableEntityUpdateMode mode) {
		table.updateEntityWithResponse(read, mode, true, null, Context.NONE);
	}

	static List<TableEntity> query(TableClient table, String filter) {
		return table.listEntities(new ListEntitiesOptions().setFilter(filter), null, Context.NONE).stream().toList();
	}

	static void everyday() {
		var table = SERVICE.createTable("Everyday");
		Suite.equal(SERVICE.listTables(new ListTablesOptions().setFilter("TableName eq 'Everyday'"), null, Context.NONE).stream().map(t -> t.getName()).toList(), List.of("Everyday"));
		Map<String, Object> properties = Map.of("text", "T", "number", 7, "big", 1L << 40, "real", 1.5, "yes", true, "id", UUID.fromString(Suite.OTHER),
			"when", OffsetDateTime.parse("2024-05-06T07:08:09Z"));
		table.createEntity(entity("p", "r", properties));
		var got = table.getEntity("p", "r");
		for (var p : properties.entrySet()) Suite.equal(got.getProperty(p.getKey()), p.getValue());
		Suite.refused(409, "EntityAlreadyExists", () -> table.createEntity(entity("p", "r", Map.of())));
		table.updateEntity(entity("p", "r", Map.of("number", 8)), TableEntityUpdateMode.MERGE);
		Suite.equal(table.getEntity("p", "r").getProperty("text"), "T");
		table.updateEntity(entity("p", "r", Map.of("number", 9)), TableEntityUpdateMode.REPLACE);
		Suite.equal(table.getEntity("p", "r").getProperty("text"), null);
		List<TableTransactionAction> actions = new ArrayList<>();
		for (int i = 0; i < 100; i++) actions.add(new TableTransactionAction(TableTransactionActionType.UPSERT_MERGE, entity("q", String.format("%04d", i), Map.of("n", i))));
		table.submitTransaction(actions);
		Suite.equal(query(table, "PartitionKey eq 'q' and n ge 90 and n lt 95").size(), 5);
		List<Integer> pages = new ArrayList<>();
		table.listEntities(new ListEntitiesOptions().setTop(60), null, Context.NONE).iterableByPage().forEach(p -> pages.add(p.getValue().size()));
		Suite.equal(pages, List.of(60, 41));
		try {
			table.submitTransaction(List.of(new TableTransactionAction(TableTransactionActionType.CREATE, entity("q", "new", Map.of())),
				new TableTransactionAction(TableTransactionActionType.CREATE, entity("q", "0001", Map.of()))));
			throw new AssertionError("an entity was made twice");
		} catch (TableTransactionFailedException e) {
			Suite.equal(e.getFailedTransactionActionIndex(), 1);
			Suite.equal(e.getValue().getErrorCode().toString(), "EntityAlreadyExists");
		}
		Suite.refused(404, "ResourceNotFound", () -> table.getEntity("q", "new"));
		table.deleteEntity("p", "r");
		Suite.refused(404, "ResourceNotFound", () -> table.getEntity("p", "r"));
		table.deleteTable();
	}

	static void optimistic() {
		var table = SERVICE.createTable("Optimistic");
		table.createEntity(entity("p", "r", Map.of("email", "one")));
		var old = table.getEntity("p", "r");
		table.updateEntity(entity("p", "r", Map.of("email", "two")), TableEntityUpdateMode.REPLACE);
		old.getProperties().put("email", "three");
		for (var mode : TableEntityUpdateMode.values()) Suite.refused(412, "UpdateConditionNotSatisfied", () -> updateIfSame(table, old, mode));
		Suite.refused(412, "UpdateConditionNotSatisfied", () -> table.deleteEntityWithResponse(old, true, null, Context.NONE));
		var now = table.getEntity("p", "r");
		Suite.equal(now.getProperty("email"), "two");
		now.getProperties().put("email", "four");
		updateIfSame(table, now, TableEntityUpdateMode.REPLACE);
		table.deleteEntityWithResponse(table.getEntity("p", "r"), true, null, Context.NONE);
	}

	static void any() {
		var table = SERVICE.createTable("Any");
		table.createEntity(entity("p", "r", Map.of("email", "one")));
		table.updateEntity(entity("p", "r", Map.of("email", "two")), TableEntityUpdateMode.REPLACE); // sends If-Match: *
		Suite.equal(table.getEntity("p", "r").getProperty("email"), "two");
		Suite.race(n -> Suite.times(() -> table.upsertEntityWithResponse(entity("p", "r", Map.of("a", n, "b", n)), TableEntityUpdateMode.REPLACE, null, Context.NONE)));
		var got = table.getEntity("p", "r");
		Suite.equal(got.getProperty("a"), got.getProperty("b"));
		table.upsertEntity(entity("p", "new", Map.of("a", 1)));
		Suite.refused(404, "ResourceNotFound", () -> table.updateEntity(entity("p", "absent", Map.of()), TableEntityUpdateMode.REPLACE));
		table.deleteEntity("p", "r");
	}

	static void race() {
		var table = SERVICE.createTable("Race");
		table.createEntity(entity("p", "counter", Map.of("n", 0)));
		Suite.race(n -> {
			for (int done = 0; done < Suite.ROUNDS;) {
				var now = table.getEntity("p", "counter");
				now.getProperties().put("n", (Integer) now.getProperty("n") + 1);
				if (Suite.wins("UpdateConditionNotSatisfied", () -> updateIfSame(table, now, TableEntityUpdateMode.REPLACE))) done++;
			}
		});
		Suite.equal(table.getEntity("p", "counter").getProperty("n"), Suite.CLIENTS * Suite.ROUNDS);
	}
}
