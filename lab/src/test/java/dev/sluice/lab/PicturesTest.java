// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.awt.image.BufferedImage;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The pictures of the docs have a white background in librsvg, which many desktops use. It
 * understands less CSS than a browser, and draws what it does not understand in black or not at
 * all.
 */
@Tag("slow")
@EnabledIf("haveLibrsvg")
final class PicturesTest {

  private static final String PROGRAM = "rsvg-convert";
  private static final int PAPER = 0xffffffff;
  private static final int MARGIN = 4;

  static boolean haveLibrsvg() {
    return Arrays.stream(System.getenv("PATH").split(File.pathSeparator))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, PROGRAM)));
  }

  static List<Path> pictures() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("..", "docs", "images"))) {
      return files.filter(file -> file.toString().endsWith(".svg")).sorted().toList();
    }
  }

  @ParameterizedTest
  @MethodSource("pictures")
  void picture_hasItsOwnBackground(Path svg) {
    BufferedImage drawn = drawn(svg);
    int right = drawn.getWidth() - MARGIN;
    int bottom = drawn.getHeight() - MARGIN;
    List<Integer> margins =
        List.of(
            drawn.getRGB(MARGIN, drawn.getHeight() / 2),
            drawn.getRGB(right, drawn.getHeight() / 2),
            drawn.getRGB(drawn.getWidth() / 2, MARGIN),
            drawn.getRGB(drawn.getWidth() / 2, bottom));
    assertThat(margins).containsOnly(PAPER);
    assertThat(share(drawn, PAPER)).as("paper").isGreaterThan(0.5);
    assertThat(share(drawn, PAPER)).as("paper, if the picture is not empty").isLessThan(0.99);
  }

  private static double share(BufferedImage drawn, int colour) {
    int[] pixels =
        drawn.getRGB(0, 0, drawn.getWidth(), drawn.getHeight(), null, 0, drawn.getWidth());
    return (double) Arrays.stream(pixels).filter(pixel -> pixel == colour).count() / pixels.length;
  }

  private static BufferedImage drawn(Path svg) {
    try {
      Process process =
          new ProcessBuilder(PROGRAM, svg.toString())
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      try {
        BufferedImage image = ImageIO.read(process.getInputStream());
        assertThat(image).as(svg.toString()).isNotNull();
        return image;
      } finally {
        process.destroyForcibly();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
