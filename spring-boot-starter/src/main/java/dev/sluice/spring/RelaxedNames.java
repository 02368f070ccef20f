// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;

/**
 * Maps limit names in the spelling of environment variables, such as {@code
 * SLUICE_LIMITS_LOGINSPERIPADDRESS_BURST}, to names of limits. Immutable and thread-safe.
 */
final class RelaxedNames {

  private final Set<String> names;
  private final Map<String, String> byUniform = new HashMap<>();

  RelaxedNames(Collection<String> names) {
    this.names = Set.copyOf(names);
    Set<String> ambiguous = new HashSet<>();
    for (String name : this.names) {
      if (byUniform.put(uniform(name), name) != null) {
        ambiguous.add(uniform(name));
      }
    }
    byUniform.keySet().removeAll(ambiguous);
  }

  private static String uniform(String name) {
    return name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]", "");
  }

  /** Whether a key can come from an environment variable, which spells names differently. */
  static boolean isOfAVariable(String key) {
    return key.equals(uniform(key));
  }

  /** Returns the limit name for a key; the key itself if it is no spelling of a limit name. */
  String of(String key) {
    return names.contains(key) ? key : byUniform.getOrDefault(uniform(key), key);
  }

  /**
   * Returns a map of properties with the limit names as keys. If two keys are spellings of one
   * name, the order of Spring Boot's property sources decides: a variable takes precedence over a
   * file.
   *
   * @param prefix the name of the property that contains the map
   */
  <T> Map<String, T> keys(Map<String, T> bound, String prefix, Binder binder) {
    Map<String, T> all = new LinkedHashMap<>();
    bound.forEach(
        (key, value) ->
            all.merge(of(key), value, (one, two) -> both(one, two, prefix, of(key), binder)));
    return all;
  }

  @SuppressWarnings("unchecked") // `merged` has the type of both arguments
  private static <T> T both(T one, T two, String prefix, String name, Binder binder) {
    String property = prefix + "." + uniform(name);
    if (one instanceof Map<?, ?> first && two instanceof Map<?, ?> second) {
      Map<Object, Object> merged = new LinkedHashMap<>(first);
      merged.putAll(second);
      merged.putAll(
          binder.bind(property, Bindable.mapOf(String.class, Object.class)).orElse(Map.of()));
      return (T) merged;
    }
    @Nullable Object found = binder.bind(property, Bindable.of(Object.class)).orElse(null);
    return found == null ? two : (T) found;
  }
}
