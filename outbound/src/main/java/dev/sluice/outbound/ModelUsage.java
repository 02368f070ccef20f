// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Reads from the JSON of a provider's response how many tokens a call to a language model used.
 * Supports the responses of OpenAI, Anthropic, Gemini, Groq, Ollama and compatible providers.
 *
 * <pre>{@code
 * LongConsumer cost = RateLimitFilter.cost(request);
 * ModelUsage usage = new ModelUsage();
 * model.stream(question, event -> usage.read(event.data()));
 * usage.total().ifPresent(cost);
 * }</pre>
 *
 * <p>Token counts are read only from the objects in which a provider reports them. The text and the
 * tool calls that a model writes therefore cannot change the token counts. Not thread-safe; never
 * blocks.
 */
public final class ModelUsage {

  private static final int MOST_DIGITS = 15;
  private static final int DEEPEST = 3;

  /** Fields that contain the total number of tokens. */
  private static final Set<String> TOTALS = Set.of("total_tokens", "totalTokenCount");

  private static final Set<String> OLLAMA = Set.of("prompt_eval_count", "eval_count");

  /**
   * Groups of fields. The token counts in the fields of one group add up to the total number of
   * tokens. A response can report the same tokens in two groups.
   */
  private static final List<Set<String>> FAMILIES =
      List.of(
          Set.of("prompt_tokens", "completion_tokens"),
          Set.of(
              "input_tokens",
              "output_tokens",
              "cache_creation_input_tokens",
              "cache_read_input_tokens"),
          OLLAMA);

  private static final String OUTERMOST = ""; // the outermost object has no key
  private static final String ARRAY = "[]";

  /**
   * The paths of the objects that contain token counts. A path lists the keys from the outermost
   * object or array to the object with the counts.
   */
  private static final Set<List<String>> HOLDERS =
      Set.of(
          List.of(OUTERMOST, "usage"),
          List.of(OUTERMOST, "message", "usage"), // an event of Anthropic
          List.of(OUTERMOST, "response", "usage"), // an event of OpenAI
          List.of(OUTERMOST, "x_groq", "usage"),
          List.of(OUTERMOST, "usageMetadata"),
          List.of(ARRAY, "", "usageMetadata")); // a stream of Gemini without server-sent events

  private final Map<String, Long> latest = new HashMap<>();

  /** Creates an object that has not read any response yet. */
  public ModelUsage() {}

  /**
   * Reads a response, or one event of a streamed response. If several events contain the same
   * field, the last value of the field is used. Text that is not JSON is ignored.
   *
   * @param json the JSON of a whole response, or of one event of a streamed response
   */
  public void read(String json) {
    List<String> path = new ArrayList<>(); // the keys of the open objects and arrays
    String key = "";
    int at = 0;
    while (at < json.length()) {
      char c = json.charAt(at);
      if (c == '"') {
        int end = endOfString(json, at);
        int next = skipSpaces(json, end);
        if (next < json.length() && json.charAt(next) == ':') {
          key = json.substring(at + 1, Math.max(end - 1, at + 1));
          at = skipSpaces(json, next + 1);
          at += number(json, at, path, key);
        } else {
          at = end;
        }
        continue;
      }
      if (c == '{' || c == '[') {
        path.add(c == '[' ? key + ARRAY : key);
        key = "";
      } else if (c == '}' || c == ']') {
        if (!path.isEmpty()) {
          path.remove(path.size() - 1);
        }
        key = "";
      }
      at++;
    }
  }

  /**
   * Stores the number at a position if the number is a token count. Returns the number of digits
   * that begin at the position.
   */
  private int number(String json, int at, List<String> path, String key) {
    int end = at;
    while (end < json.length() && isDigit(json.charAt(end))) {
      end++;
    }
    int digits = end - at;
    boolean isWhole = end == json.length() || ".eE".indexOf(json.charAt(end)) < 0;
    if (digits > 0 && digits <= MOST_DIGITS && isWhole && isUsage(path, key)) {
      latest.put(key, Long.parseLong(json.substring(at, end)));
    }
    return digits;
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static boolean isUsage(List<String> path, String key) {
    if (path.size() > DEEPEST) {
      return false;
    }
    return HOLDERS.contains(path)
        ? !OLLAMA.contains(key)
            && (TOTALS.contains(key) || FAMILIES.stream().anyMatch(one -> one.contains(key)))
        : path.equals(List.of(OUTERMOST)) && OLLAMA.contains(key);
  }

  private static int endOfString(String json, int start) {
    for (int i = start + 1; i < json.length(); i++) {
      char c = json.charAt(i);
      if (c == '\\') {
        i++;
      } else if (c == '"') {
        return i + 1;
      }
    }
    return json.length();
  }

  private static int skipSpaces(String json, int from) {
    int at = from;
    while (at < json.length() && Character.isWhitespace(json.charAt(at))) {
      at++;
    }
    return at;
  }

  /**
   * Returns the total number of tokens of the call.
   *
   * @return the total that the provider reported, or else the sum of the input tokens and output
   *     tokens; empty if the provider reported no tokens
   */
  public OptionalLong total() {
    long total = TOTALS.stream().mapToLong(this::latest).max().orElse(0);
    long tokens =
        total > 0
            ? total
            : FAMILIES.stream()
                .mapToLong(one -> one.stream().mapToLong(this::latest).sum())
                .max()
                .orElse(0);
    return tokens > 0 ? OptionalLong.of(tokens) : OptionalLong.empty();
  }

  private long latest(String field) {
    return latest.getOrDefault(field, 0L);
  }
}
