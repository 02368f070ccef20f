// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RlsFile;
import io.envoyproxy.envoy.service.ratelimit.v3.RlsProto;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Our own description of Envoy's messages says what Envoy's published one does, as far as it goes.
 */
final class EnvoyProtoTest {

  /**
   * Envoy's API has this field since pull request 44059 (its Go bindings of August 2026 say: bool,
   * 4). The newest Java artifact is older, so the field is not compared with it.
   */
  private static final FieldDescriptor NEWER_THAN_THE_ARTIFACT =
      RateLimitDescriptor.getDescriptor().findFieldByName("is_negative_hits");

  private final Set<String> compared = new HashSet<>();

  @Test
  void service_isEnvoys() {
    ServiceDescriptor ours = RlsFile.getDescriptor().getServices().get(0);
    ServiceDescriptor theirs = RlsProto.getDescriptor().getServices().get(0);
    assertThat(ours.getFullName()).isEqualTo(theirs.getFullName());
    for (MethodDescriptor method : ours.getMethods()) {
      MethodDescriptor same = theirs.findMethodByName(method.getName());
      assertThat(method.isServerStreaming()).isEqualTo(same.isServerStreaming());
      assertThat(method.isClientStreaming()).isEqualTo(same.isClientStreaming());
      compare(method.getInputType(), same.getInputType());
      compare(method.getOutputType(), same.getOutputType());
    }
    assertThat(compared)
        .contains(
            RateLimitRequest.getDescriptor().getFullName(),
            RateLimitResponse.getDescriptor().getFullName(),
            RateLimitDescriptor.getDescriptor().getFullName(),
            "envoy.config.core.v3.HeaderValue");
  }

  @Test
  void isNegativeHits_isField4_andTheArtifactDoesNotHaveItYet() {
    assertThat(NEWER_THAN_THE_ARTIFACT.getNumber()).isEqualTo(4);
    assertThat(NEWER_THAN_THE_ARTIFACT.getType()).isEqualTo(FieldDescriptor.Type.BOOL);
    assertThat(NEWER_THAN_THE_ARTIFACT.getJsonName()).isEqualTo("isNegativeHits");
    assertThat(
            io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.getDescriptor()
                .findFieldByNumber(4))
        .as("compare the field like the others now, and remove this test")
        .isNull();
  }

  private void compare(Descriptor ours, Descriptor theirs) {
    assertThat(ours.getFullName()).isEqualTo(theirs.getFullName());
    if (!compared.add(ours.getFullName())) {
      return;
    }
    for (FieldDescriptor field : ours.getFields()) {
      if (field.equals(NEWER_THAN_THE_ARTIFACT)) {
        continue;
      }
      FieldDescriptor same = theirs.findFieldByNumber(field.getNumber());
      assertThat(same).as(field.getFullName()).isNotNull();
      assertThat(field.getName()).isEqualTo(same.getName());
      assertThat(field.getJsonName()).isEqualTo(same.getJsonName());
      assertThat(field.getType()).as(field.getFullName()).isEqualTo(same.getType());
      assertThat(field.isRepeated()).as(field.getFullName()).isEqualTo(same.isRepeated());
      if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
        compare(field.getMessageType(), same.getMessageType());
      } else if (field.getJavaType() == FieldDescriptor.JavaType.ENUM) {
        compare(field.getEnumType(), same.getEnumType());
      }
    }
  }

  private static void compare(EnumDescriptor ours, EnumDescriptor theirs) {
    assertThat(ours.getFullName()).isEqualTo(theirs.getFullName());
    for (EnumValueDescriptor value : ours.getValues()) {
      EnumValueDescriptor same = theirs.findValueByName(value.getName());
      assertThat(same).as(value.getFullName()).isNotNull();
      assertThat(value.getNumber()).isEqualTo(same.getNumber());
    }
  }
}
