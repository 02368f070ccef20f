// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.internal.text.Suggestion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;
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
import org.springframework.util.ClassUtils;

/**
 * Reports all properties of {@code sluice} that are unknown or have a wrong value, with their
 * positions and the expected values.
 *
 * <p>If a profile contains a list of the main file, the profile's list replaces the whole list, and
 * Spring Boot binds the new list. However, Spring Boot reports properties of the replaced list as
 * unknown if elements of this list contain lists, such as the methods of a filter rule. This class
 * does not report the properties of such a replaced list.
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

  private static final class Handler extends AbstractBindHandler {

    private final Set<ConfigurationPropertyName> known = new HashSet<>();
    private final Set<ConfigurationPropertyName> parents = new HashSet<>();
    private final Set<ConfigurationPropertyName> wrong = new HashSet<>();
    private final List<String> problems = new ArrayList<>();
    private String action =
        "Correct these properties, or remove them; docs/spring.md lists all properties.";

    Handler(BindHandler parent) {
      super(parent);
    }

    @Override
    public <T> @Nullable Bindable<T> onStart(
        ConfigurationPropertyName name, Bindable<T> target, BindContext context) {
      Class<?> type = target.getType().resolve(Object.class);
      // Spring Boot also calls this method for the getters of plain values, which are not
      // properties.
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
        e.getUnboundProperties().stream()
            .filter(property -> !isReplaced(property.getName(), context.getSources()))
            .filter(property -> wrong.stream().noneMatch(known -> covers(known, property)))
            .map(this::unknown)
            .distinct()
            .forEach(problems::add);
      }
      if (name.equals(OURS) && !problems.isEmpty()) {
        throw new SluiceConfigurationException(problems, action);
      }
    }

    private static boolean covers(ConfigurationPropertyName wrong, ConfigurationProperty property) {
      return wrong.equals(property.getName()) || wrong.isAncestorOf(property.getName());
    }

    /**
     * Uses the property's default after a mistake, to find the mistakes in later properties too.
     */
    @Override
    public @Nullable Object onFailure(
        ConfigurationPropertyName name, Bindable<?> target, BindContext context, Exception error)
        throws Exception {
      if (!isOurs(name) || name.equals(OURS) || error instanceof SluiceConfigurationException) {
        return super.onFailure(name, target, context, error);
      }
      if (error instanceof UnboundConfigurationPropertiesException e) {
        // Spring Boot rejects a list with a missing first element or a gap before it calls
        // onFinish().
        if (wrong.stream().noneMatch(name::isAncestorOf)) {
          e.getUnboundProperties()
              .forEach(
                  property ->
                      problems.add(
                          "%s%s: found an element of a list, but the element before it is missing"
                              .formatted(property.getName(), place(property))));
          action =
              "Write the whole list, from %s[0] on: a profile or an environment variable always replaces the whole list."
                  .formatted(name);
        }
      } else {
        ConfigurationProperty property = context.getConfigurationProperty();
        problems.add(
            "%s%s: found \"%s\", expected %s"
                .formatted(
                    name,
                    property == null ? "" : place(property),
                    property == null ? "" : property.getValue(),
                    expected(target, property)));
      }
      wrong.add(name);
      return null;
    }

    private static String expected(Bindable<?> target, @Nullable ConfigurationProperty property) {
      Class<?> type =
          ClassUtils.resolvePrimitiveIfNecessary(target.getType().resolve(Object.class));
      if (type.isEnum()) {
        List<String> words =
            Stream.of(type.getEnumConstants())
                .map(word -> word.toString().toLowerCase(Locale.ROOT).replace('_', '-'))
                .toList();
        String found = property == null ? "" : String.valueOf(property.getValue());
        return "one of " + String.join(", ", words) + Suggestion.didYouMean(found, words);
      }
      return type == Boolean.class
          ? "true or false"
          : type == Duration.class
              ? "a time such as 10s"
              : Number.class.isAssignableFrom(type)
                  ? "a whole number"
                  : List.class.isAssignableFrom(type) ? "a list" : "fields below it";
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
      List<String> words =
          siblings.stream().map(sibling -> sibling.getLastElement(Form.DASHED)).toList();
      String expected =
          siblings.isEmpty()
              ? "nothing below " + parent
              : siblings.stream().anyMatch(ConfigurationPropertyName::isLastElementIndexed)
                  ? "a list, " + parent + "[0] and so on"
                  : "one of "
                      + String.join(", ", words)
                      + Suggestion.didYouMean(name.getLastElement(Form.DASHED), words);
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

  /**
   * Whether a property belongs to a list that is not in force, since another property source
   * replaces the whole list.
   */
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
