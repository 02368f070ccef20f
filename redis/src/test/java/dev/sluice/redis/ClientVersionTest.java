// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.LettuceVersion;
import java.io.File;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Passes with every version that stands in docs/stores.md; .ci/run tries the oldest too. */
final class ClientVersionTest {

  @Test
  void check_versionOfTheTests_passes() {
    assertThatCode(ClientVersion::check).doesNotThrowAnyException();
  }

  @Test
  void check_olderThan65_isRefusedByItsName() {
    assertThatIllegalStateException()
        .isThrownBy(() -> ClientVersion.check(new WithoutJson(), "6.2.1.RELEASE/abc"))
        .withMessage(
            "sluice-redis needs Lettuce 6.5 or newer, found 6.2.1.RELEASE/abc; set the version of"
                + " io.lettuce:lettuce-core");
  }

  /** So it is on a module path. */
  @Test
  void check_olderThan65WithoutAName_isRefused() {
    assertThatIllegalStateException()
        .isThrownBy(() -> ClientVersion.check(new WithoutJson(), null))
        .withMessageContaining("found an older version");
  }

  /** Lettuce before 6.3 does not have the class that tells its version. */
  @Test
  void check_olderThan63_isRefusedByItsName() throws Exception {
    try (URLClassLoader old = withoutClassesOfNewerVersions()) {
      Class<?> ours = old.loadClass(ClientVersion.class.getName());
      Method check = ours.getDeclaredMethod("check");
      check.setAccessible(true);
      assertThatThrownBy(() -> check.invoke(null))
          .hasCauseInstanceOf(IllegalStateException.class)
          .hasRootCauseMessage(
              "sluice-redis needs Lettuce 6.5 or newer, found "
                  + LettuceVersion.getVersion()
                  + "; set the version of io.lettuce:lettuce-core");
    }
  }

  private static URLClassLoader withoutClassesOfNewerVersions() {
    URL[] classPath =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .map(ClientVersionTest::url)
            .toArray(URL[]::new);
    return new URLClassLoader(classPath, ClassLoader.getPlatformClassLoader()) {
      @Override
      protected Class<?> findClass(String name) throws ClassNotFoundException {
        if (name.equals("io.lettuce.core.LettuceVersion") || isOfJson(name)) {
          throw new ClassNotFoundException(name);
        }
        return super.findClass(name);
      }
    };
  }

  private static URL url(String entry) {
    try {
      return Path.of(entry).toUri().toURL();
    } catch (MalformedURLException e) {
      throw new IllegalArgumentException(entry, e);
    }
  }

  private static boolean isOfJson(String name) {
    return name.startsWith("io.lettuce.core.json.");
  }

  /** As Quarkus 3 has it, which manages Netty 4.1 and no Lettuce. */
  @Test
  void check_lettuce7OnNetty41_isRefusedByItsName() {
    ClassLoader netty41 =
        new ClassLoader(ClientVersionTest.class.getClassLoader()) {
          @Override
          protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.endsWith(".MultiThreadIoEventLoopGroup")) {
              throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
          }
        };
    if (major() < 7) {
      assertThatCode(() -> ClientVersion.check(netty41, "an old one")).doesNotThrowAnyException();
      return;
    }
    assertThatIllegalStateException()
        .isThrownBy(() -> ClientVersion.check(netty41, "7.7.0.RELEASE/abc"))
        .withMessage(
            "Lettuce 7.7.0.RELEASE/abc needs Netty 4.2, found an older version; set the version of"
                + " io.lettuce:lettuce-core to 6.8, or the version of io.netty to 4.2");
  }

  /** Reads what the options say, as the tests are compiled for Lettuce before 7.0 too. */
  @Test
  void maintenanceNotifications_whereLettuceHasThem_areOff() throws ReflectiveOperationException {
    StoreUri uri = StoreUri.parse("redis://localhost");
    ClientOptions options = new Clients(uri, RedisOptions.of(uri)).clientOptions().build();
    Method config =
        Arrays.stream(ClientOptions.class.getMethods())
            .filter(method -> method.getName().equals("getMaintNotificationsConfig"))
            .findAny()
            .orElse(null);
    assertThat(config != null).isEqualTo(major() >= 7);
    if (config != null) {
      Object off = config.getReturnType().getMethod("disabled").invoke(null);
      assertThat(config.invoke(options)).usingRecursiveComparison().isEqualTo(off);
    }
  }

  private static int major() {
    String version = LettuceVersion.getVersion();
    return Integer.parseInt(version.substring(0, version.indexOf('.')));
  }

  /** Lettuce before 6.5 had no JSON. */
  private static final class WithoutJson extends ClassLoader {

    WithoutJson() {
      super(ClientVersionTest.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (isOfJson(name)) {
        throw new ClassNotFoundException(name);
      }
      return super.loadClass(name, resolve);
    }
  }
}
