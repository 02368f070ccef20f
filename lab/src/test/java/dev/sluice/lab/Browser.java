package dev.sluice.lab;

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
import org.openqa.selenium.OutputType;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;

/** The Chromium of this machine, without a window, driven through its driver. */
final class Browser implements AutoCloseable {

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

  /** It warns of a protocol's version that only its other half needs. Held, or it is forgotten. */
  private static final Logger SELENIUM = Logger.getLogger("org.openqa.selenium");

  private final Path profile;
  private final ChromeDriver driver;

  Browser() {
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
            .usingAnyFreePort()
            .build();
    driver = new ChromeDriver(service, options);
  }

  static boolean isThere() {
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

  ChromeDriver driver() {
    return driver;
  }

  /** Looks at the page as on another screen. */
  void look(Look look) {
    driver.executeCdpCommand(
        "Emulation.setDeviceMetricsOverride",
        Map.of(
            "width",
            look.width(),
            "height",
            900,
            "deviceScaleFactor",
            1,
            "mobile",
            look.width() < 500));
    driver.executeCdpCommand(
        "Emulation.setEmulatedMedia",
        Map.of(
            "media",
            look.media(),
            "features",
            List.of(Map.of("name", "prefers-color-scheme", "value", look.colours()))));
  }

  void scrollTo(int y) {
    var unused = driver.executeScript("window.scrollTo(0, arguments[0])", y);
  }

  /** What a script says. */
  Object ask(String script) {
    return Objects.requireNonNull(driver.executeScript(script));
  }

  /** The whole page as a picture, for people: with {@code -Dsluice.screenshots=FOLDER}. */
  void keepPicture(String name) {
    String folder = System.getProperty("sluice.screenshots");
    if (folder == null) {
      return;
    }
    try {
      Files.write(Path.of(folder, name + ".png"), driver.getScreenshotAs(OutputType.BYTES));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
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

  /** A screen. */
  record Look(String name, int width, String media, String colours) {
    @Override
    public String toString() {
      return name;
    }
  }
}
