// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitProperties;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;
import org.springframework.core.io.Resource;
import org.springframework.core.io.ResourceLoader;

/** Where the limits come from: limit files, or the properties themselves. */
final class LimitSource {

  private static final Logger LOG = System.getLogger(LimitSource.class.getName());

  private final SluiceProperties properties;
  private final ResourceLoader resources;
  private final Environment environment;
  private final Map<String, Path> copies = new ConcurrentHashMap<>();

  LimitSource(SluiceProperties properties, ResourceLoader resources, Environment environment) {
    this.properties = properties;
    this.resources = resources;
    this.environment = environment;
    boolean here =
        properties.limits() != null || properties.names() != null || properties.overrides() != null;
    if (here && !properties.files().isEmpty()) {
      throw new SluiceConfigurationException(
          List.of("sluice.files: found files and also limits in the properties"),
          "Keep the limits in files (sluice.files.*) or in the properties (sluice.limits,"
              + " sluice.names, sluice.overrides), not in both.");
    }
    if (properties.rules() != null && properties.files().isEmpty()) {
      throw new SluiceConfigurationException(
          List.of("sluice.rules: found a rule book without files of limits"),
          "Name the limit files for the rules (sluice.files.*). The rules and the limit files are"
              + " always read and replaced together.");
    }
  }

  Limits load() {
    LimitFiles files = files();
    return files == null
        ? LimitProperties.load(
            SluiceProperties.PREFIX,
            properties.names(),
            limits(),
            properties.overrides(),
            warning -> LOG.log(Level.WARNING, warning))
        : files.load();
  }

  private @Nullable Map<String, Object> limits() {
    Map<String, Object> limits = properties.limits();
    return limits == null
        ? null
        : new RelaxedNames(names())
            .keys(limits, SluiceProperties.PREFIX + ".limits", Binder.get(environment));
  }

  /** Returns the names in {@code sluice.names}, and the limits that have an id format. */
  List<String> names() {
    List<Map<String, Object>> declared = properties.names();
    Set<String> names = new LinkedHashSet<>();
    if (declared == null) {
      Catalogue.samples().names().forEach(name -> names.add(name.name()));
    } else {
      declared.forEach(name -> names.add(String.valueOf(name.get("name"))));
    }
    Map<String, Object> limits = Objects.requireNonNullElse(properties.limits(), Map.of());
    RelaxedNames spelled =
        new RelaxedNames(
            Stream.concat(
                    names.stream(),
                    limits.keySet().stream().filter(key -> !RelaxedNames.isOfAVariable(key)))
                .toList());
    limits.forEach(
        (key, value) -> {
          if (value instanceof Map<?, ?> fields && fields.containsKey("id")) {
            names.add(spelled.of(key));
          }
        });
    return List.copyOf(names);
  }

  /** Returns the files; null if the limits are in the properties. */
  @Nullable LimitFiles files() {
    SluiceProperties.Files files = properties.files();
    if (files.isEmpty()) {
      return null;
    }
    LimitFiles.Builder builder = LimitFiles.builder();
    if (files.limits() != null) {
      builder.defaults(path(files.limits()));
    }
    if (files.overrides() != null) {
      builder.overrides(path(files.overrides()));
    }
    if (files.names() != null) {
      builder.names(path(files.names()));
    }
    if (properties.rules() != null) {
      builder.companion(
          path(properties.rules()), RuleBook.readerForRequests(properties.missingDefault()));
    }
    return builder.build();
  }

  /** Returns the file of overrides; null if there is no such file. */
  @Nullable Path overridesFile() {
    String location = properties.files().overrides();
    return location == null ? null : path(location);
  }

  private Path path(String location) {
    if (!location.startsWith("classpath:") && !location.startsWith("file:")) {
      return Path.of(location);
    }
    Resource resource = resources.getResource(location);
    try {
      return resource.isFile() || !resource.exists()
          ? Path.of(resource.isFile() ? resource.getFile().getPath() : location)
          : copies.computeIfAbsent(location, copied -> copy(resource));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + location, e);
    }
  }

  /** Copies a resource from a jar to a file. A resource in a jar cannot change. */
  private static Path copy(Resource resource) {
    try (InputStream in = resource.getInputStream()) {
      Path folder = Files.createTempDirectory("sluice-");
      Path file = folder.resolve(Objects.requireNonNullElse(resource.getFilename(), "limits.yml"));
      Files.copy(in, file);
      folder.toFile().deleteOnExit();
      file.toFile().deleteOnExit();
      return file;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + resource.getDescription(), e);
    }
  }
}
