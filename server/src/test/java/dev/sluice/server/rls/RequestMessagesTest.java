// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.UInt64Value;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitDescriptor.Entry;
import dev.sluice.envoy.RateLimitDescriptor.RateLimitOverride;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.server.rls.RateLimitService.BadRequest;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Messages that protobuf's own reader refuses. */
final class RequestMessagesTest {

  /** A descriptor with one entry, whose value is one byte that is not UTF-8. */
  private static final byte[] NOT_TEXT = {0x12, 8, 0x0a, 6, 0x0a, 1, 'k', 0x12, 1, (byte) 0x80};

  private static final UnknownFieldSet LATER =
      UnknownFieldSet.newBuilder()
          .addField(9, Field.newBuilder().addVarint(7).addFixed32(1).build())
          .build();

  private static RateLimitRequest question() {
    return RateLimitRequest.newBuilder()
        .setDomain("edge")
        .setHitsAddend(-1)
        .addDescriptors(
            RateLimitDescriptor.newBuilder()
                .addEntries(Entry.newBuilder().setKey("remote_address").setValue("192.0.2.7"))
                .addEntries(Entry.newBuilder().setKey("user").setValue("Ren\u00e9 \uFFFD"))
                .setHitsAddend(UInt64Value.of(0))
                .setLimit(RateLimitOverride.newBuilder().setRequestsPerUnit(3).setUnitValue(9)))
        .addDescriptors(RateLimitDescriptor.getDefaultInstance())
        .build();
  }

  private static byte[] concat(byte[] one, byte[] other) {
    byte[] both = Arrays.copyOf(one, one.length + other.length);
    System.arraycopy(other, 0, both, one.length, other.length);
    return both;
  }

  @Test
  void read_keepsAllElse_whereOneValueIsNotText() {
    byte[] later = question().toBuilder().setUnknownFields(LATER).build().toByteArray();
    RateLimitRequest read = RequestMessages.read(concat(later, NOT_TEXT), 0);
    int last = read.getDescriptorsCount() - 1;
    assertThat(read.toBuilder().removeDescriptors(last).build()).isEqualTo(question());
    assertThat(RequestMessages.isText(read.getDescriptors(0))).isTrue();
    assertThat(RequestMessages.isText(read.getDescriptors(last))).isFalse();
    assertThat(read.getDescriptors(last).getEntries(0).getKey()).isEqualTo("k");
  }

  /** A field of a descriptor may change what is charged; elsewhere it is for other servers. */
  @Test
  void read_keepsWhatADescriptorSays_whereOneValueIsNotText() {
    byte[] ofDescriptor = {0x12, 12, 0x0a, 6, 0x0a, 1, 'k', 0x12, 1, (byte) 0x80, 0x20, 1, 0x28, 7};
    byte[] ofEntry = {0x12, 10, 0x0a, 8, 0x0a, 1, 'k', 0x12, 1, (byte) 0x80, 0x18, 7};
    RateLimitRequest negative = RequestMessages.read(ofDescriptor, 0);
    assertThat(negative.getDescriptors(0).getIsNegativeHits()).isTrue();
    assertThatThrownBy(() -> RequestMessages.requireKnownFields(negative))
        .isInstanceOf(BadRequest.class)
        .hasMessageContaining("descriptors[0]: found the field number 5");
    assertThatThrownBy(() -> RequestMessages.requireKnownFields(RequestMessages.read(ofEntry, 0)))
        .isInstanceOf(BadRequest.class)
        .hasMessageContaining("descriptors[0].entries[0]: found the field number 3");
    byte[] later = question().toBuilder().setUnknownFields(LATER).build().toByteArray();
    RequestMessages.requireKnownFields(RequestMessages.read(concat(later, NOT_TEXT), 0));
  }

  @Test
  void read_refusesWhatIsNotWhole_alsoBehindAValueThatIsNotText() {
    byte[] whole = question().toByteArray();
    byte[] cut = concat(NOT_TEXT, Arrays.copyOf(whole, whole.length - 3));
    assertThatThrownBy(() -> RequestMessages.read(cut, 0)).isInstanceOf(BadRequest.class);
    byte[] endOfAGroup = concat(NOT_TEXT, new byte[] {0x7c});
    assertThatThrownBy(() -> RequestMessages.read(endOfAGroup, 0)).isInstanceOf(BadRequest.class);
  }
}
