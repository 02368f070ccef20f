// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.openapiparser.OpenApiParser;
import io.openapiparser.OpenApiResult;
import io.openapiprocessor.interfaces.ConverterException;
import io.openapiprocessor.jsonschema.ouput.OutputConverter;
import io.openapiprocessor.jsonschema.ouput.OutputUnit;
import io.openapiprocessor.jsonschema.schema.DocumentLoader;
import io.openapiprocessor.jsonschema.schema.DocumentStore;
import io.openapiprocessor.jsonschema.schema.JsonInstance;
import io.openapiprocessor.jsonschema.schema.JsonSchema;
import io.openapiprocessor.jsonschema.schema.Output;
import io.openapiprocessor.jsonschema.schema.SchemaStore;
import io.openapiprocessor.jsonschema.schema.SchemaVersion;
import io.openapiprocessor.jsonschema.validator.Validator;
import java.io.IOException;
import java.net.URI;
import java.util.Collection;
import java.util.List;

/**
 * An OpenAPI document, held against OpenAPI's own schema; and values, held against the schemas in
 * it.
 */
final class OpenApiDocument {

  private static final DocumentLoader LOADER =
      new DocumentLoader(
          uri -> {
            throw new IOException("nothing is fetched: " + uri);
          },
          OpenApiDocument::value);

  private final JsonNode document;

  OpenApiDocument(JsonNode document) {
    this.document = document;
  }

  JsonNode json() {
    return document;
  }

  /** What a JSON pointer leads to; itself where the node is no reference. */
  JsonNode resolved(JsonNode node) {
    return node.has("$ref") ? document.at(node.get("$ref").asText().substring(1)) : node;
  }

  /** What is wrong with the document. */
  List<String> faults() {
    OpenApiResult parsed =
        new OpenApiParser(new DocumentStore(), LOADER)
            .parse(URI.create("https://example.com/openapi.json"), plain(document));
    var unused = parsed.validate(new Validator(), store());
    return parsed.getValidationErrors().stream()
        .map(error -> error.getInstanceLocation() + ": " + error.getText())
        .toList();
  }

  /** What is wrong with a value by a schema of the document. */
  List<String> faults(JsonNode schema, JsonNode value) {
    ObjectNode whole = TestServer.JSON.createObjectNode();
    whole.putArray("allOf").add(schema);
    whole.set("components", closed(document.get("components")));
    SchemaStore store = store();
    URI id = store.register(plain(whole));
    JsonSchema compiled = store.getSchema(id, SchemaVersion.Draft202012);
    var step = new Validator().validate(compiled, new JsonInstance(plain(value)));
    OutputUnit output = new OutputConverter(Output.BASIC).convert(step);
    Collection<OutputUnit> errors = output.getErrors();
    return output.isValid() || errors == null
        ? List.of()
        : errors.stream().map(e -> e.getInstanceLocation() + ": " + e.getError()).toList();
  }

  /**
   * A copy whose objects may have only the fields that are documented: clients must ignore unknown
   * fields, but the server sends none.
   */
  private JsonNode closed(JsonNode components) {
    JsonNode copy = components.deepCopy();
    copy.get("schemas").properties().forEach(schema -> merge((ObjectNode) schema.getValue()));
    copy.findParents("properties").forEach(OpenApiDocument::close);
    return copy;
  }

  /** Puts all fields of the schemas in {@code allOf} into the schema itself. */
  private void merge(ObjectNode schema) {
    JsonNode parts = schema.remove("allOf");
    if (parts == null) {
      return;
    }
    for (JsonNode part : parts) {
      JsonNode resolved = resolved(part);
      resolved.path("required").forEach(schema.withArray("required")::add);
      ObjectNode properties = schema.withObject("/properties");
      resolved
          .get("properties")
          .properties()
          .forEach(e -> properties.set(e.getKey(), e.getValue()));
    }
  }

  private static void close(JsonNode schema) {
    if (schema.get("properties").isObject()) {
      ((ObjectNode) schema).put("additionalProperties", false);
    }
  }

  private static SchemaStore store() {
    SchemaStore store = new SchemaStore(LOADER);
    store.registerDraft202012();
    return store;
  }

  /** As maps, lists, texts and numbers. */
  private static Object plain(JsonNode json) {
    return TestServer.JSON.convertValue(json, Object.class);
  }

  private static Object value(String json) throws ConverterException {
    try {
      return TestServer.JSON.readValue(json, Object.class);
    } catch (JsonProcessingException e) {
      throw new ConverterException("no JSON", e);
    }
  }
}
