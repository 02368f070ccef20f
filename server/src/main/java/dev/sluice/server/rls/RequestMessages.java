// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.UInt64Value;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.WireFormat;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitDescriptor.RateLimitOverride;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitRequestOrBuilder;
import dev.sluice.server.rls.RateLimitService.BadRequest;
import io.grpc.MethodDescriptor.Marshaller;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.StandardCharsets;

/*
 * Protobuf's own parser refuses a whole message if one string is not UTF-8, and a proxy's client
 * can choose such a string. A proxy with failure_mode_deny: false lets a request pass if the server
 * returns an error. So this class replaces each invalid character by half of a surrogate pair,
 * which no id can contain. So only the descriptor with the invalid string is denied. Protobuf's
 * parser is faster, so it is tried first, and this class reads only messages that Protobuf's parser
 * refuses.
 */
/** Parses Envoy's requests from the protobuf format. */
final class RequestMessages implements Marshaller<RateLimitRequest> {

  static final RequestMessages INSTANCE = new RequestMessages();

  /** The reason for denying a descriptor that contains invalid UTF-8. */
  static final String NOT_TEXT = "found a value that is not text in UTF-8, expected an id";

  private static final String MALFORMED =
      "found a message that is not a RateLimitRequest; compare Envoy's rls.proto";
  private static final char UNREADABLE = '\uFFFD'; // stands for bytes that are not UTF-8
  private static final char NO_ID = '\uDFFF';

  private static final int DOMAIN = tag(RateLimitRequest.DOMAIN_FIELD_NUMBER);
  private static final int DESCRIPTORS = tag(RateLimitRequest.DESCRIPTORS_FIELD_NUMBER);
  private static final int HITS_OF_ALL =
      RateLimitRequest.HITS_ADDEND_FIELD_NUMBER << 3 | WireFormat.WIRETYPE_VARINT;
  private static final int ENTRIES = tag(RateLimitDescriptor.ENTRIES_FIELD_NUMBER);
  private static final int LIMIT = tag(RateLimitDescriptor.LIMIT_FIELD_NUMBER);
  private static final int HITS = tag(RateLimitDescriptor.HITS_ADDEND_FIELD_NUMBER);
  private static final int NEGATIVE =
      RateLimitDescriptor.IS_NEGATIVE_HITS_FIELD_NUMBER << 3 | WireFormat.WIRETYPE_VARINT;
  private static final int KEY = tag(RateLimitDescriptor.Entry.KEY_FIELD_NUMBER);
  private static final int VALUE = tag(RateLimitDescriptor.Entry.VALUE_FIELD_NUMBER);

  private RequestMessages() {}

  private static int tag(int field) {
    return field << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
  }

  /**
   * Reads a message.
   *
   * @param bytes an array that contains the message from {@code offset} to its end
   * @return the message; a descriptor that contained invalid UTF-8 is not {@linkplain #isText text}
   * @throws BadRequest if the bytes are not a rate limit request, or the request's domain is not
   *     UTF-8
   */
  static RateLimitRequest read(byte[] bytes, int offset) {
    int length = bytes.length - offset;
    try {
      return RateLimitRequest.parser().parseFrom(bytes, offset, length);
    } catch (InvalidProtocolBufferException e) {
      try {
        return request(CodedInputStream.newInstance(bytes, offset, length));
      } catch (IOException malformed) {
        throw new BadRequest(MALFORMED);
      }
    }
  }

  static boolean isText(RateLimitRequestOrBuilder request) {
    return StandardCharsets.UTF_8.newEncoder().canEncode(request.getDomain())
        && request.getDescriptorsList().stream().allMatch(RequestMessages::isText);
  }

  static boolean isText(RateLimitDescriptor descriptor) {
    CharsetEncoder encoder = StandardCharsets.UTF_8.newEncoder();
    boolean text = true;
    for (RateLimitDescriptor.Entry entry : descriptor.getEntriesList()) {
      text &= encoder.canEncode(entry.getKey()) && encoder.canEncode(entry.getValue());
    }
    return text;
  }

  private static RateLimitRequest request(CodedInputStream in) throws IOException {
    RateLimitRequest.Builder request = RateLimitRequest.newBuilder();
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      if (tag == DOMAIN) {
        request.setDomain(domain(in.readBytes()));
      } else if (tag == DESCRIPTORS) {
        request.addDescriptors(descriptor(in.readBytes().newCodedInput()));
      } else if (tag == HITS_OF_ALL) {
        request.setHitsAddend(in.readUInt32());
      } else {
        skip(in, tag);
      }
    }
    return request.build();
  }

  private static RateLimitDescriptor descriptor(CodedInputStream in) throws IOException {
    RateLimitDescriptor.Builder descriptor = RateLimitDescriptor.newBuilder();
    UnknownFieldSet.Builder unknown = UnknownFieldSet.newBuilder();
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      if (tag == ENTRIES) {
        descriptor.addEntries(entry(in.readBytes().newCodedInput()));
      } else if (tag == LIMIT) {
        descriptor.mergeLimit(RateLimitOverride.parseFrom(in.readBytes()));
      } else if (tag == HITS) {
        descriptor.mergeHitsAddend(UInt64Value.parseFrom(in.readBytes()));
      } else if (tag == NEGATIVE) {
        descriptor.setIsNegativeHits(in.readBool());
      } else {
        keep(in, tag, unknown);
      }
    }
    return descriptor.setUnknownFields(unknown.build()).build();
  }

  private static RateLimitDescriptor.Entry entry(CodedInputStream in) throws IOException {
    RateLimitDescriptor.Entry.Builder entry = RateLimitDescriptor.Entry.newBuilder();
    UnknownFieldSet.Builder unknown = UnknownFieldSet.newBuilder();
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      if (tag == KEY) {
        entry.setKey(text(in.readBytes()));
      } else if (tag == VALUE) {
        entry.setValue(text(in.readBytes()));
      } else {
        keep(in, tag, unknown);
      }
    }
    return entry.setUnknownFields(unknown.build()).build();
  }

  private static void keep(CodedInputStream in, int tag, UnknownFieldSet.Builder unknown)
      throws IOException {
    if (!unknown.mergeFieldFrom(tag, in)) { // a group ends that did not begin
      throw new BadRequest(MALFORMED);
    }
  }

  private static void skip(CodedInputStream in, int tag) throws IOException {
    if (!in.skipField(tag)) { // a group ends that did not begin
      throw new BadRequest(MALFORMED);
    }
  }

  /**
   * Refuses a descriptor with an unknown field, since an unknown field can change which bucket is
   * charged and how much. Unknown fields outside of descriptors are ignored, so that newer proxies
   * work.
   *
   * @throws BadRequest if a descriptor has an unknown field
   */
  static void requireKnownFields(RateLimitRequest request) {
    for (int i = 0; i < request.getDescriptorsCount(); i++) {
      RateLimitDescriptor descriptor = request.getDescriptors(i);
      requireKnownFields(i, "", descriptor);
      for (int j = 0; j < descriptor.getEntriesCount(); j++) {
        requireKnownFields(i, ".entries[" + j + "]", descriptor.getEntries(j));
      }
      requireKnownFields(i, ".limit", descriptor.getLimit());
      requireKnownFields(i, ".hits_addend", descriptor.getHitsAddend());
    }
  }

  private static void requireKnownFields(int index, String field, Message message) {
    UnknownFieldSet unknown = message.getUnknownFields();
    if (!unknown.equals(UnknownFieldSet.getDefaultInstance())) {
      throw unknownField(
          "descriptors[" + index + "]" + field,
          "number " + unknown.asMap().keySet().iterator().next());
    }
  }

  static BadRequest unknownField(String message, String field) {
    return new BadRequest(
        "%s: found the field %s, which this version of Sluice does not know; upgrade Sluice, or do not send the field"
            .formatted(message, field));
  }

  /** Reads the domain, which the proxy's configuration sets; clients cannot change the domain. */
  private static String domain(ByteString bytes) {
    if (!bytes.isValidUtf8()) {
      throw new BadRequest("found a domain that is not text in UTF-8");
    }
    return bytes.toStringUtf8();
  }

  private static String text(ByteString bytes) {
    String text = bytes.toStringUtf8();
    return bytes.isValidUtf8() ? text : text.replace(UNREADABLE, NO_ID);
  }

  @Override
  public RateLimitRequest parse(InputStream message) {
    try {
      return read(message.readAllBytes(), 0);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // the message cannot be read
    }
  }

  @Override
  public InputStream stream(RateLimitRequest message) {
    return message.toByteString().newInput();
  }
}
