// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A command that needs no server starts without the libraries of the server and of the stores. */
final class LoadedClassesTest {

  private static final Pattern REFUSED =
      Pattern.compile(
          "com\\.linecorp\\..*|io\\.netty\\..*|io\\.lettuce\\..*|org\\.postgresql\\..*");

  @TempDir private Path folder;

  /** Loads every class itself, and refuses some. */
  private static final class PickyLoader extends URLClassLoader {

    private final List<String> refused = new ArrayList<>();

    PickyLoader() throws MalformedURLException {
      super(classPath(), ClassLoader.getPlatformClassLoader());
    }

    private static URL[] classPath() throws MalformedURLException {
      List<URL> urls = new ArrayList<>();
      for (String part : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
        urls.add(Path.of(part).toUri().toURL());
      }
      return urls.toArray(URL[]::new);
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (REFUSED.matcher(name).matches()) {
        refused.add(name);
        throw new ClassNotFoundException(name);
      }
      return super.findClass(name);
    }
  }

  private String file(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text).toString();
  }

  @Test
  void commandsOnFiles_loadNoServer() throws Exception {
    String limits = file("l.yml", "LoginsPerIPAddress: {burst: 3, count: 3, period: 1m}\n");
    String rules =
        file("r.yml", "rules:\n  - path: /a\n    limit: LoginsPerIPAddress\n    id: \"{ip}\"\n");
    String tokens =
        file(
            "t.yml",
            "tokens:\n  - {name: a, sha256: %s, roles: [read]}\n".formatted("0".repeat(64)));
    String envoy =
        file(
            "e.yml",
            "domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: minute, requests_per_unit: 5}\n");
    List<List<String>> commands =
        List.of(
            List.of("lint", limits, tokens),
            List.of("lint", limits, rules),
            List.of(
                "explain-rule",
                "--limits",
                limits,
                "--rules",
                rules,
                "GET",
                "/a",
                "--client",
                "192.0.2.7"),
            List.of(
                "explain-rule",
                "--limits",
                limits,
                "--rules",
                rules,
                "--domain",
                "d",
                "--entry",
                "LoginsPerIPAddress=192.0.2.7"),
            List.of("convert", "envoy-ratelimit", envoy, "--out", folder.resolve("out").toString()),
            List.of("key", "LoginsPerIPAddress", "192.0.2.7"),
            List.of("token", "new", "a", "--role", "read"),
            List.of("--version"));
    try (PickyLoader loader = new PickyLoader()) {
      Method run =
          loader
              .loadClass(Main.class.getName())
              .getDeclaredMethod(
                  "run", InputStream.class, OutputStream.class, OutputStream.class, String[].class);
      run.setAccessible(true);
      for (List<String> command : commands) {
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        Object code =
            run.invoke(
                null,
                InputStream.nullInputStream(),
                OutputStream.nullOutputStream(),
                err,
                command.toArray(String[]::new));
        assertThat(code).as("%s: %s", command, err.toString(StandardCharsets.UTF_8)).isEqualTo(0);
      }
      assertThat(loader.refused).isEmpty();
    }
  }
}
