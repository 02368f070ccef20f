// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationPropertiesBindHandlerAdvisor;
import org.springframework.boot.context.properties.bind.AbstractBindHandler;
import org.springframework.boot.context.properties.bind.BindContext;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName.Form;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertyState;

/**
 * Says which properties below {@code sluice} are unknown, where they stand, and which are known.
 *
 * <p>A profile replaces a list of the main file as a whole. Spring Boot binds it so, but then takes
 * what is left of the replaced list for unknown if it has lists within, such as the methods of a
 * filter rule. Those properties are accepted here.
 *
 * <p>Stateless and thread-safe.
 */
final class UnknownProperties implements ConfigurationPropertiesBindHandlerAdvisor {

  private static final ConfigurationPropertyName OURS =
      ConfigurationPropertyName.of(SluiceProperties.PREFIX);

  @Override
  public BindHandler apply(BindHandler handler) {
    return new Handler(handler);
  }

  /** For one act of binding. */
  private static final class Handler extends AbstractBindHandler {

    private final Set<ConfigurationPropertyName> known = new HashSet<>();
    private final Set<ConfigurationPropertyName> parents = new HashSet<>();

    Handler(BindHandler parent) {
      super(parent);
    }

    @Override
    public <T> @Nullable Bindable<T> onStart(
        ConfigurationPropertyName name, Bindable<T> target, BindContext context) {
      Class<?> type = target.getType().resolve(Object.class);
      // Spring Boot tries the getters of a plain value too.
      if (isOurs(name) && (name.equals(OURS) || parents.contains(name.getParent()))) {
        known.add(name);
        if (type.isRecord() || List.class.isAssignableFrom(type)) {
          parents.add(name);
        }
      }
      return super.onStart(name, target, context);
    }

    @Override
    public void onFinish(
        ConfigurationPropertyName name,
        Bindable<?> target,
        BindContext context,
        @Nullable Object result)
        throws Exception {
      try {
        super.onFinish(name, target, context, result);
      } catch (UnboundConfigurationPropertiesException e) {
        if (!isOurs(name)) {
          throw e;
        }
        List<String> problems =
            e.getUnboundProperties().stream()
                .filter(property -> !isReplaced(property.getName(), context.getSources()))
                .map(this::unknown)
                .distinct()
                .toList();
        if (!problems.isEmpty()) {
          throw new SluiceConfigurationException(
              problems, "Correct the names, or remove these properties; docs/spring.md lists all.");
        }
      }
    }

    /** A list that begins late or has a gap is refused before the end. */
    @Override
    public @Nullable Object onFailure(
        ConfigurationPropertyName name, Bindable<?> target, BindContext context, Exception error)
        throws Exception {
      if (error instanceof UnboundConfigurationPropertiesException e && isOurs(name)) {
        throw new SluiceConfigurationException(
            e.getUnboundProperties().stream()
                .map(
                    property ->
                        "%s%s: found an element of a list that has none before it"
                            .formatted(property.getName(), place(property)))
                .toList(),
            "Give the whole list, from %s[0] on: a profile or a variable replaces all of its elements."
                .formatted(name));
      }
      return super.onFailure(name, target, context, error);
    }

    private String unknown(ConfigurationProperty property) {
      ConfigurationPropertyName name = property.getName();
      ConfigurationPropertyName parent = name.getParent();
      while (!known.contains(parent)) {
        name = parent;
        parent = name.getParent();
      }
      List<ConfigurationPropertyName> siblings =
          known.stream().filter(parent::isParentOf).sorted().toList();
      String expected =
          siblings.isEmpty()
              ? "nothing below " + parent
              : siblings.stream().anyMatch(ConfigurationPropertyName::isLastElementIndexed)
                  ? "a list, " + parent + "[0] and so on"
                  : siblings.stream()
                      .map(sibling -> sibling.getLastElement(Form.DASHED))
                      .collect(Collectors.joining(", ", "one of ", ""));
      return "%s%s: found an unknown property, expected %s"
          .formatted(name, place(property), expected);
    }

    private static String place(ConfigurationProperty property) {
      return property.getOrigin() == null ? "" : " (" + property.getOrigin() + ")";
    }
  }

  private static boolean isOurs(ConfigurationPropertyName name) {
    return OURS.equals(name) || OURS.isAncestorOf(name);
  }

  /** Whether a property is part of a list, and the list is bound from a source that lacks it. */
  private static boolean isReplaced(
      ConfigurationPropertyName name, Iterable<ConfigurationPropertySource> sources) {
    for (int i = 0; i < name.getNumberOfElements(); i++) {
      if (name.isNumericIndex(i)) {
        ConfigurationPropertyName list = name.chop(i);
        for (ConfigurationPropertySource source : sources) {
          if (source.containsDescendantOf(list) == ConfigurationPropertyState.PRESENT) {
            return source.getConfigurationProperty(name) == null;
          }
        }
      }
    }
    return false;
  }
}
