// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Reads how many tokens a call of a language model cost, from the JSON that the provider answers.
 * It understands the usage that OpenAI, Anthropic, Gemini, Ollama and their imitators report.
 *
 * <pre>{@code
 * ModelUsage usage = new ModelUsage();
 * model.stream(request, event -> usage.read(event.data()));
 * usage.total().ifPresent(tokens -> RateLimitFilter.cost(request, tokens));
 * }</pre>
 *
 * <p>Only fields where providers put them count, so the text and the tool calls that a model writes
 * cannot change the result. Not thread-safe; never blocks.
 */
public final class ModelUsage {

  private static final int MOST_DIGITS = 15;
  private static final int DEEPEST = 3;

  /** Fields that already are the sum of the others. */
  private static final Set<String> TOTALS = Set.of("total_tokens", "totalTokenCount");

  private static final Set<String> PARTS =
      Set.of(
          "prompt_tokens",
          "completion_tokens",
          "input_tokens",
          "output_tokens",
          "cache_creation_input_tokens",
          "cache_read_input_tokens");

  private static final Set<String> OLLAMA = Set.of("prompt_eval_count", "eval_count");

  /** The objects that hold the usage; streamed events of Anthropic and OpenAI nest them. */
  private static final Set<String> HOLDERS =
      Set.of("usage", "message.usage", "response.usage", "usageMetadata");

  private final Map<String, Long> latest = new HashMap<>();

  /** Creates a usage without tokens. */
  public ModelUsage() {}

  /**
   * Reads an answer, or one event of a streamed answer. A later event replaces what earlier ones
   * reported in the same field. What is not JSON reports nothing.
   *
   * @param json the JSON
   */
  public void read(String json) {
    Deque<String> path = new ArrayDeque<>(); // the keys of the open objects and arrays
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
        path.addLast(c == '[' ? key + "[]" : key);
        key = "";
      } else if (c == '}' || c == ']') {
        path.pollLast();
      }
      at++;
    }
  }

  /** Keeps a number that belongs to the usage. Returns its length, 0 if there is none. */
  private int number(String json, int at, Deque<String> path, String key) {
    int end = at;
    while (end < json.length() && Character.digit(json.charAt(end), 10) >= 0) {
      end++;
    }
    int digits = end - at;
    if (digits > 0 && digits <= MOST_DIGITS && isUsage(path, key)) {
      latest.put(key, Long.parseLong(json.substring(at, end)));
    }
    return digits;
  }

  private static boolean isUsage(Deque<String> path, String key) {
    if (path.size() > DEEPEST) {
      return false;
    }
    String holder = String.join(".", path);
    String inner =
        holder.startsWith(".") ? holder.substring(1) : holder; // the outermost has no key
    return HOLDERS.contains(inner)
        ? TOTALS.contains(key) || PARTS.contains(key)
        : inner.isEmpty() && OLLAMA.contains(key);
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
   * Returns the tokens of the call.
   *
   * @return the total that the provider reports, or else the sum of input and output; empty if it
   *     reported neither, or 0
   */
  public OptionalLong total() {
    long total = 0;
    long parts = 0;
    for (Map.Entry<String, Long> one : latest.entrySet()) {
      if (TOTALS.contains(one.getKey())) {
        total = Math.max(total, one.getValue());
      } else {
        parts += one.getValue();
      }
    }
    long tokens = total > 0 ? total : parts;
    return tokens > 0 ? OptionalLong.of(tokens) : OptionalLong.empty();
  }
}
