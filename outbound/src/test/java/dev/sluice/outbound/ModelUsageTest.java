// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ModelUsageTest {

  private final ModelUsage usage = new ModelUsage();

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        // OpenAI, chat and responses
        "{\"id\":\"x\",\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12,\"total_tokens\":21,\"prompt_tokens_details\":{\"cached_tokens\":8}}}|21",
        "{\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":3,\"total_tokens\":12}}}|12",
        // Anthropic
        "{\"usage\": {\"input_tokens\": 9, \"cache_read_input_tokens\": 100, \"output_tokens\": 12}}|121",
        // Gemini, Ollama
        "{\"candidates\":[],\"usageMetadata\":{\"promptTokenCount\":5,\"totalTokenCount\":11}}|11",
        "{\"done\":true,\"prompt_eval_count\":26,\"eval_count\":298}|324",
        "[{\"usageMetadata\":{\"totalTokenCount\":5}},{\"usageMetadata\":{\"totalTokenCount\":11}}]|11",
        // Groq, and one that names the same tokens twice
        "{\"choices\":[],\"x_groq\":{\"id\":\"r\",\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12}}}|21",
        "{\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12,\"input_tokens\":9,\"output_tokens\":12}}|21",
      })
  void total_ofAnAnswer_isWhatTheProviderReports(String json, long tokens) {
    usage.read(json);

    assertThat(usage.total()).hasValue(tokens);
  }

  @Test
  void total_ofAStream_isThatOfTheLastReportOfEachField() {
    usage.read(
        "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}");
    usage.read("{\"type\":\"content_block_delta\",\"delta\":{\"text\":\"Hello\"}}");
    usage.read("{\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}");
    usage.read("[DONE]");

    assertThat(usage.total()).hasValue(40);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[DONE]",
        "{\"usage\":null}",
        "{\"usage\":{\"total_tokens\":0}}",
        "{\"usage\":{\"total_tokens\":-5}}",
        "{\"usage\":{\"total_tokens\":12345678901234567890}}",
        "{\"usage\":{\"total_tokens\":1.9e3}}",
        "{\"usage\":{\"total_tokens\":19E2}}",
        "{\"message.usage\":{\"total_tokens\":1}}",
        "[{\"usageMetadata\":1},{\"x\":{\"usageMetadata\":{\"totalTokenCount\":1}}}]",
        "{\"text\":\"\\\"usage\\\":{\\\"total_tokens\\\":1}\"}",
        "{\"content\":[{\"input\":{\"usage\":{\"total_tokens\":1}}}]}",
        "{\"content\":[{\"usage\":{\"total_tokens\":1}}]}",
        "[{\"usage\":{\"total_tokens\":1}}]",
        "{\"usage\":[{\"total_tokens\":1}]}",
        "{\"open",
        "{\"usage\":{\"total_tokens\"",
        "\"\\",
      })
  void total_ofWhatIsNoUsage_isEmpty(String json) {
    usage.read(json);

    assertThat(usage.total()).isEmpty();
  }

  /** Which takes as long as it is, not as long as its square. */
  @Test
  void numbersBehindALongKey_areReadOnce() {
    String numbers = "\"n\":1,".repeat(200_000);

    usage.read(
        "{\"%s\":{%s\"n\":1},\"usage\":{\"total_tokens\":7}}"
            .formatted("k".repeat(1_000_000), numbers));

    assertThat(usage.total()).hasValue(7);
  }

  @Test
  void toolCallOfAModel_doesNotChangeTheTotal() {
    usage.read(
        "{\"content\":[{\"input\":{\"usage\":{\"output_tokens\":1}}}],\"usage\":{\"input_tokens\":9,\"output_tokens\":12}}");

    assertThat(usage.total()).hasValue(21);
  }
}
