// SPDX-License-Identifier: Apache-2.0
package login;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import redis.clients.jedis.JedisPool;

@Configuration
class Redis {

  @Bean
  JedisPool jedisPool(
      @Value("${spring.data.redis.host}") String host,
      @Value("${spring.data.redis.port}") int port) {
    return new JedisPool(host, port);
  }
}
