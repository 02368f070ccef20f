// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The recorded test cases that every implementation of Sluice must reproduce. The cases are
 * resources in the folder {@code vectors/} of this package:
 *
 * <ul>
 *   <li>{@code gcra/}: limits, operations with these limits, and the decisions on the operations,
 *       exact to the nanosecond; {@code up-to.jsonl} contains operations that spend up to a number
 *       of tokens, with the decisions;
 *   <li>{@code settle/}: limits, and reservations that are settled or cancelled, with the charge of
 *       each settlement;
 *   <li>{@code ids.json}, {@code covering.json}: ids with the expected bucket keys and domains;
 *   <li>{@code limits/}: valid limit files, and limit files that must be rejected;
 *   <li>{@code peers/}: assertions from the tests of other rate limiters.
 * </ul>
 *
 * <p>Reads the recorded cases from the class path.
 */
public final class Vectors {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Catalogue NAMES =
      Catalogue.of(
          LimitName.builder(1, "NewRegistrationsPerIPAddress").id(IdFormat.ipAddress()).build(),
          LimitName.builder(2, "NewRegistrationsPerIPv6Range").id(IdFormat.ipv6Range(48)).build(),
          LimitName.builder(3, "NewOrdersPerAccount").id(IdFormat.regId()).build(),
          LimitName.builder(9, "LimitOverrideRequestsPerIPAddress")
              .id(IdFormat.ipAddress())
              .build());

  private Vectors() {}

  /**
   * Returns the limit names that the files in {@code gcra/} and {@code limits/} use. The file
   * {@code ids.json} uses further limit names, whose ids need a list of public suffixes.
   *
   * @return four names of limits of a certificate authority
   */
  public static Catalogue names() {
    return NAMES;
  }

  /**
   * Returns a resource as text.
   *
   * @param name the path below {@code vectors/}, for example {@code gcra/trace.jsonl}
   * @return the content of the resource
   */
  public static String text(String name) {
    try (InputStream in = Vectors.class.getResourceAsStream("vectors/" + name)) {
      if (in == null) {
        throw new IllegalArgumentException(
            "name: found " + name + ", expected the path of a resource below vectors/");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns a resource as lines.
   *
   * @param name the path below {@code vectors/}
   * @return the lines of the resource
   */
  public static List<String> lines(String name) {
    return text(name).lines().toList();
  }

  static JsonNode json(String name) {
    return parse(text(name));
  }

  static List<JsonNode> jsonLines(String name) {
    return lines(name).stream().map(Vectors::parse).toList();
  }

  private static JsonNode parse(String json) {
    try {
      return JSON.readTree(json);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }
}
