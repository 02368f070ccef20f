// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

final class ReplyWriterTest {

  @Test
  void numbers_areWrittenAsTheJdkDoes() {
    List<Long> numbers = new ArrayList<>(List.of(0L, Long.MIN_VALUE, Long.MAX_VALUE));
    for (long power = 1; power > 0 && power <= Long.MAX_VALUE / 10; power *= 10) {
      for (long near = power - 1; near <= power + 1; near++) {
        numbers.add(near);
        numbers.add(-near);
      }
    }
    Random random = new Random(15);
    for (int i = 0; i < 10_000; i++) {
      numbers.add(random.nextLong() >> random.nextInt(Long.SIZE));
    }
    ReplyWriter writer = new ReplyWriter();
    numbers.forEach(writer::number);
    ByteBuf written = Unpooled.buffer();
    writer.moveTo(written);

    assertThat(written.toString(StandardCharsets.US_ASCII))
        .isEqualTo(
            numbers.stream().map(number -> ":" + number + "\r\n").collect(Collectors.joining()));
  }
}
