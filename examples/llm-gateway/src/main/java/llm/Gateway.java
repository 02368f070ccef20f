// SPDX-License-Identifier: Apache-2.0
package llm;

import dev.sluice.Limiter;
import dev.sluice.Reservation.Estimate;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import dev.sluice.webflux.RateLimitWebFilter;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;

@SpringBootApplication
@RestController
public class Gateway {

  private static final Pattern USAGE = Pattern.compile("\"total_tokens\"\\s*:\\s*([1-9]\\d{0,8})\\b");

  private final Estimate tokens = Estimate.mean(16, 4_096);
  private final WebClient model;

  public Gateway(@Value("${model.url}") String url) {
    model = WebClient.create(url);
  }

  @Bean
  RateLimitWebFilter tokensPerKey(Limiter limiter) {
    return RateLimitWebFilter.builder(limiter)
        .rule(
            Rule.on("/v1/chat/completions")
                .limit("TokensPerKey", VaryBy.header("X-Api-Key"))
                .estimate(request -> tokens.of("chat"))
                .countAllBut(500) // the model was not reached
                .build())
        .build();
  }

  @PostMapping(path = "/v1/chat/completions", produces = MediaType.TEXT_EVENT_STREAM_VALUE)
  public Flux<String> chat(@RequestBody Map<String, Object> question, ServerWebExchange exchange) {
    RateLimitWebFilter.cost(exchange, 4_096); // until the model reports usage
    question.put("stream", true);
    question.put("stream_options", Map.of("include_usage", true));
    return model
        .post()
        .uri("/v1/chat/completions")
        .contentType(MediaType.APPLICATION_JSON)
        .bodyValue(question)
        .retrieve()
        .bodyToFlux(String.class) // the data of each event
        .doOnNext(
            event -> {
              Matcher usage = USAGE.matcher(event);
              if (usage.find()) {
                RateLimitWebFilter.cost(exchange, Long.parseLong(usage.group(1)));
              }
            });
  }

  public static void main(String[] arguments) {
    SpringApplication.run(Gateway.class, arguments);
  }
}
