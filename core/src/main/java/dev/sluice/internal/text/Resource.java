// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Reads the resources of Sluice's modules. */
public final class Resource {

  private Resource() {}

  /**
   * Returns the text of a resource, and closes the resource.
   *
   * @param in the resource, opened by a class of the resource's own module; null if it is missing
   * @param name the resource's name, for a message
   */
  public static String text(@Nullable InputStream in, String name) {
    if (in == null) {
      throw new IllegalStateException("the resource " + name + " is missing");
    }
    try (in) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
