// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;

/**
 * A headless Chromium for tests, controlled with its driver. Chromium must be installed on this
 * machine. Requires {@code selenium-chrome-driver}. The browser stores its files in a temporary
 * folder, which is deleted when the browser is closed.
 *
 * <p>Not thread-safe. Each method blocks until the browser has done what was requested.
 */
public final class LocalBrowser implements AutoCloseable {

  private static final List<String> PROGRAMS =
      List.of("chromium", "chromium-browser", "google-chrome");
  private static final List<String> ARGUMENTS =
      List.of(
          "--headless=new",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-quic",
          "--disable-dev-shm-usage",
          "--no-first-run",
          "--disable-background-networking",
          "--disable-component-update",
          "--disable-sync",
          "--hide-scrollbars");

  private static final int HEIGHT = 900;
  // The height in pixels with which the window starts; every page is higher.
  private static final int LOWEST = 100;
  private static final int WIDEST_PHONE = 500;

  /**
   * The logger of Selenium, which is switched off because it warns about an unknown protocol
   * version. The field keeps a reference to the logger: a logger that is collected as garbage would
   * be switched on when it is created again.
   */
  private static final Logger SELENIUM = Logger.getLogger("org.openqa.selenium");

  private final Path profile;
  private final ChromeDriver driver;
  private @Nullable Look looked;

  private LocalBrowser(Path profile, ChromeDriver driver) {
    this.profile = profile;
    this.driver = driver;
  }

  /**
   * Starts the browser with an empty profile.
   *
   * @return the browser, on an empty page
   * @throws java.util.NoSuchElementException if the browser or its driver is not installed
   */
  public static LocalBrowser start() {
    Path profile;
    try {
      profile = Files.createTempDirectory("browser-");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    SELENIUM.setLevel(Level.SEVERE);
    ChromeOptions options = new ChromeOptions();
    options.setBinary(program().orElseThrow().toFile());
    options.addArguments(ARGUMENTS);
    options.addArguments("--user-data-dir=" + profile);
    options.setCapability("goog:loggingPrefs", Map.of("browser", "ALL"));
    ChromeDriverService service =
        new ChromeDriverService.Builder()
            .usingDriverExecutable(onPath("chromedriver").orElseThrow().toFile())
            .usingPort(FreePort.next())
            .build();
    return new LocalBrowser(profile, new ChromeDriver(service, options));
  }

  /**
   * Returns whether the browser and its driver are installed.
   *
   * @return false if the browser or its driver is not on the {@code PATH}
   */
  public static boolean isThere() {
    return program().isPresent() && onPath("chromedriver").isPresent();
  }

  private static Optional<Path> program() {
    return PROGRAMS.stream().flatMap(name -> onPath(name).stream()).findFirst();
  }

  private static Optional<Path> onPath(String name) {
    String path = Objects.requireNonNullElse(System.getenv("PATH"), "");
    return Stream.of(path.split(File.pathSeparator, -1))
        .map(folder -> Path.of(folder, name))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /**
   * Returns the driver of the browser.
   *
   * @return the driver, valid until the browser is closed
   */
  public ChromeDriver driver() {
    return driver;
  }

  /**
   * Emulates another screen.
   *
   * @param look the screen to emulate
   */
  public void look(Look look) {
    looked = look;
    size(look, HEIGHT);
    driver.executeCdpCommand(
        "Emulation.setEmulatedMedia",
        Map.of(
            "media",
            look.media(),
            "features",
            List.of(Map.of("name", "prefers-color-scheme", "value", look.colours()))));
  }

  private void size(Look look, long height) {
    driver.executeCdpCommand(
        "Emulation.setDeviceMetricsOverride",
        Map.of(
            "width",
            look.width(),
            "height",
            height,
            "deviceScaleFactor",
            1,
            "mobile",
            look.width() < WIDEST_PHONE));
  }

  /**
   * Scrolls the page.
   *
   * @param y the distance from the top of the page in pixels
   */
  public void scrollTo(int y) {
    driver.executeScript("window.scrollTo(0, arguments[0])", y);
  }

  /**
   * Runs a script in the page.
   *
   * @param script the body of a JavaScript function that returns a value
   * @return the returned value
   */
  @CanIgnoreReturnValue
  public Object ask(String script) {
    return Objects.requireNonNull(driver.executeScript(script));
  }

  /**
   * Returns the page's console messages since the previous call, such as errors.
   *
   * @return the messages
   */
  public List<String> console() {
    return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
        .map(LogEntry::getMessage)
        .toList();
  }

  /**
   * Saves a picture of the visible part of the page.
   *
   * @param folder the folder for the picture; null to save nothing
   * @param name the name of the file without its suffix
   */
  public void keepPicture(@Nullable Path folder, String name) {
    if (folder == null) {
      return;
    }
    try {
      Files.write(folder.resolve(name + ".png"), driver.getScreenshotAs(OutputType.BYTES));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Saves a picture of the whole page. For the picture, the screen is made as high as the page, so
   * an element that covers the screen, such as the backdrop of a dialog, covers the whole picture.
   *
   * @param folder the folder for the picture; null to save nothing
   * @param name the name of the file without its suffix
   * @throws java.util.NoSuchElementException if no page was opened yet
   */
  public void keepWholePage(@Nullable Path folder, String name) {
    if (folder == null) {
      return;
    }
    Look look = Optional.ofNullable(looked).orElseThrow();
    try {
      size(look, LOWEST);
      size(look, (Long) ask("return document.documentElement.scrollHeight"));
      keepPicture(folder, name);
    } finally {
      size(look, HEIGHT);
    }
  }

  @Override
  public void close() {
    driver.quit();
    try (Stream<Path> files = Files.walk(profile)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * A screen that the browser emulates.
   *
   * @param name the screen's name, which is a part of the names of tests and pictures
   * @param width the width in pixels
   * @param media {@code screen} or {@code print}
   * @param colours {@code light} or {@code dark}
   */
  public record Look(String name, int width, String media, String colours) {
    @Override
    public String toString() {
      return name;
    }
  }
}
