// SPDX-License-Identifier: Apache-2.0
package login;

import static io.github.bucket4j.distributed.ExpirationAfterWriteStrategy.basedOnTimeForRefillingBucketUpToMax;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Duration;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.OncePerRequestFilter;

@Component
class RateLimitFilter extends OncePerRequestFilter {

  private static final Duration PERIOD = Duration.ofMinutes(1);
  private static final BucketConfiguration LOGINS =
      BucketConfiguration.builder()
          .addLimit(limit -> limit.capacity(5).refillGreedy(5, PERIOD))
          .build();

  private final ProxyManager<byte[]> buckets;

  RateLimitFilter(
      @Value("${spring.data.redis.host}") String host,
      @Value("${spring.data.redis.port}") int port) {
    RedisClient client = RedisClient.create(RedisURI.create(host, port));
    this.buckets =
        Bucket4jLettuce.casBasedBuilder(client)
            .expirationAfterWrite(basedOnTimeForRefillingBucketUpToMax(PERIOD))
            .build();
  }

  @Override
  protected boolean shouldNotFilter(HttpServletRequest request) {
    return !request.getMethod().equals("POST") || !request.getServletPath().equals("/login");
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    byte[] key = ("login:" + request.getRemoteAddr()).getBytes(UTF_8);
    ConsumptionProbe probe =
        buckets.builder().build(key, () -> LOGINS).tryConsumeAndReturnRemaining(1);
    if (probe.isConsumed()) {
      chain.doFilter(request, response);
    } else {
      long seconds = Duration.ofNanos(probe.getNanosToWaitForRefill() + 999_999_999).toSeconds();
      response.setHeader("Retry-After", Long.toString(seconds));
      response.setStatus(429);
    }
  }
}
