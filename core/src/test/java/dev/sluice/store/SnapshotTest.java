// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.MemoryStore.SnapshotException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SnapshotTest {

  private static final long SECOND = 1_000_000_000;

  private final AtomicLong nowNanos = new AtomicLong(1_700_000_000 * SECOND);
  private final MemoryStore store = MemoryStore.builder().time(nowNanos::get).build();

  @TempDir private Path directory;

  private static Reading charge(BucketStore store, Op act, int id, int seconds) {
    return store
        .charge(
            List.of(new Charge("1:" + id, act, seconds * SECOND, 3_600 * SECOND, Effect.NO_END)))
        .get(0);
  }

  private MemoryStore restored(Path file) throws IOException {
    return MemoryStore.builder().time(nowNanos::get).restore(file);
  }

  @Test
  void restored_bucketsAreWhatTheyWere() throws IOException {
    Path file = directory.resolve("buckets");
    for (int id = 0; id < 50_000; id++) {
      assertThat(charge(store, Op.SPEND, id, 1 + id % 60).tatNanos()).isZero();
    }
    nowNanos.addAndGet(30 * SECOND);
    store.save(file);
    MemoryStore restored = restored(file);
    assertThat(restored.liveBuckets().orElseThrow())
        .isEqualTo(24_990); // 833 × those with 31 to 60 s
    for (int id = 0; id < 50_000; id++) {
      assertThat(charge(restored, Op.CHECK, id, 1)).isEqualTo(charge(store, Op.CHECK, id, 1));
    }
    nowNanos.addAndGet(60 * SECOND);
    assertThat(restored(file).liveBuckets()).hasValue(0);
  }

  @Test
  void file_isReplacedAsAWhole_andForItsOwnerAlone() throws IOException {
    Path file = directory.resolve("buckets");
    store.save(file);
    assertThat(restored(file).liveBuckets()).hasValue(0);
    assertThat(charge(store, Op.SPEND, 1, 1).tatNanos()).isZero();
    store.save(file);
    assertThat(restored(file).liveBuckets()).hasValue(1);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    try (var files = Files.list(directory)) {
      assertThat(files).containsExactly(file);
    }
  }

  @Test
  void torn_orDamagedFiles_areRefused() throws IOException {
    Path file = directory.resolve("buckets");
    for (int id = 0; id < 100; id++) {
      assertThat(charge(store, Op.SPEND, id, 60).tatNanos()).isZero();
    }
    store.save(file);
    byte[] good = Files.readAllBytes(file);
    Random random = new Random(1);
    Path bad = directory.resolve("bad");
    for (int i = 0; i < 400; i++) {
      byte[] bytes = good.clone();
      if (i % 2 == 0) {
        bytes = java.util.Arrays.copyOf(good, random.nextInt(good.length));
      } else {
        bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
      }
      Files.write(bad, bytes);
      assertThatThrownBy(() -> restored(bad))
          .isInstanceOf(SnapshotException.class)
          .hasMessageContaining("nothing was restored")
          .hasMessageContaining("move the file away");
    }
    Files.write(bad, new byte[1 << 16]);
    assertThatThrownBy(() -> restored(bad)).hasMessageContaining("does not begin like a snapshot");
    assertThatThrownBy(() -> restored(directory.resolve("none")))
        .isInstanceOf(NoSuchFileException.class);
    assertThatThrownBy(() -> MemoryStore.builder().time(nowNanos::get).maxBuckets(5).restore(file))
        .hasMessageContaining("100 live buckets, more than the store can keep (5)");
  }

  @Test
  void asManyBuckets_asTheStoreMayKeep_areRestored() throws IOException {
    Path file = directory.resolve("buckets");
    for (int id = 0; id < 5; id++) {
      assertThat(charge(store, Op.SPEND, id, 60).tatNanos()).isZero();
    }
    store.save(file);
    MemoryStore.Builder five = MemoryStore.builder().time(nowNanos::get).maxBuckets(5);
    assertThat(five.restore(file).liveBuckets()).hasValue(5);
    assertThatThrownBy(() -> five.maxBuckets(4).restore(file))
        .hasMessageContaining("found 5 live buckets, more than the store can keep (4)");
  }

  @Test
  void bucketsThatDiedSinceTheSnapshot_doNotCountTowardsTheBound() throws IOException {
    Path file = directory.resolve("buckets");
    for (int id = 0; id < 5; id++) {
      assertThat(charge(store, Op.SPEND, id, id < 2 ? 60 : 1).tatNanos()).isZero();
    }
    store.save(file);
    nowNanos.addAndGet(30 * SECOND);
    MemoryStore.Builder two = MemoryStore.builder().time(nowNanos::get).maxBuckets(2);
    assertThat(two.restore(file).liveBuckets()).hasValue(2);
    nowNanos.addAndGet(60 * SECOND);
    assertThat(two.restore(file).liveBuckets()).hasValue(0);
  }

  /** As whole as its checksum says, and still impossible: such buckets would fit in no lines. */
  @Test
  void aBucketTwice_isRefused() throws IOException {
    assertThat(charge(store, Op.SPEND, 1, 60).tatNanos()).isZero();
    Path file = directory.resolve("buckets");
    store.save(file);
    ByteBuffer good = ByteBuffer.wrap(Files.readAllBytes(file));
    byte[] one = new byte[3 * Long.BYTES];
    good.get(4 * Long.BYTES, one);
    ByteBuffer twice = ByteBuffer.allocate(5 * Long.BYTES + 2 * one.length);
    twice.put(good.array(), 0, 3 * Long.BYTES).putLong(2).put(one).put(one);
    CRC32C checksum = new CRC32C();
    checksum.update(twice.array(), 0, twice.position());
    twice.putLong(checksum.getValue());
    Files.write(file, twice.array());
    assertThatThrownBy(() -> restored(file))
        .isInstanceOf(SnapshotException.class)
        .hasMessageContaining(
            "found a bucket twice; the file is damaged or forged; nothing was restored");
  }

  @Test
  void whatKilledProcessesLeft_isDeleted_andNothingElse() throws IOException {
    Path left = Files.createFile(directory.resolve("buckets.123.tmp"));
    Path justMade = Files.createFile(directory.resolve("buckets.456.tmp"));
    Path beingWritten = Files.createFile(directory.resolve("buckets.789.tmp"));
    Path others = Files.createFile(directory.resolve("buckets.old.tmp"));
    Instant aMinuteAgo = Instant.now().minus(Duration.ofMinutes(1));
    Files.setLastModifiedTime(justMade, FileTime.from(Instant.now().plus(Duration.ofMinutes(1))));
    for (Path path : List.of(left, beingWritten, others)) {
      Files.setLastModifiedTime(path, FileTime.from(aMinuteAgo));
    }
    Path file = directory.resolve("buckets");
    try (FileChannel writer = FileChannel.open(beingWritten, StandardOpenOption.WRITE);
        FileLock alive = writer.lock()) {
      assertThat(alive.isValid()).isTrue();
      store.save(file);
    }
    try (Stream<Path> all = Files.list(directory)) {
      assertThat(all).containsExactlyInAnyOrder(file, justMade, beingWritten, others);
    }
  }

  /** Locks a file until its input ends: what a process does that is killed later, or never. */
  private static final String WRITER =
      """
      import java.nio.channels.FileChannel;
      import java.nio.file.Path;
      import java.nio.file.StandardOpenOption;

      class Writer {
        public static void main(String[] file) throws Exception {
          try (FileChannel channel = FileChannel.open(Path.of(file[0]), StandardOpenOption.WRITE)) {
            channel.lock();
            System.out.println("locked");
            System.in.read();
          }
        }
      }
      """;

  @Test
  void whatAnotherProcessWrites_isKeptUntilThatEnds() throws Exception {
    Path code = Files.writeString(directory.resolve("Writer.java"), WRITER);
    Path beingWritten = Files.createFile(directory.resolve("buckets.789.tmp"));
    Files.setLastModifiedTime(
        beingWritten, FileTime.from(Instant.now().minus(Duration.ofMinutes(1))));
    Path file = directory.resolve("buckets");
    Process writer =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                code.toString(),
                beingWritten.toString())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try (var out = writer.inputReader()) {
      assertThat(out.readLine()).isEqualTo("locked");
      store.save(file);
      assertThat(beingWritten).exists();
      writer.getOutputStream().close();
      assertThat(writer.waitFor()).isZero();
      store.save(file);
      assertThat(beingWritten).doesNotExist();
    } finally {
      writer.destroy();
    }
  }

  /** A forger knows the checksum, and the hash: all its buckets want the same two lines. */
  @Test
  void forged_bucketsOfOneLineInEverySegment_areRefusedWithoutMuchMemory() throws IOException {
    int each = 12;
    int count = each * Directory.ENTRIES;
    ByteBuffer forged = ByteBuffer.allocate(5 * Long.BYTES + count * 3 * Long.BYTES);
    forged.putLong(0x534c554943450001L).putLong(1).putLong(2).putLong(count);
    for (int i = 0; i < count; i++) {
      forged.putLong((long) (i / each) << 54).putLong(i + 1).putLong(Long.MAX_VALUE);
    }
    CRC32C checksum = new CRC32C();
    checksum.update(forged.array(), 0, forged.position());
    forged.putLong(checksum.getValue());
    Path file = directory.resolve("forged");
    Files.write(file, forged.array());
    assertThatThrownBy(() -> restored(file))
        .isInstanceOf(SnapshotException.class)
        .hasMessageContaining(
            "found more buckets in one line of slots than a table of this program can contain")
        .hasMessageContaining("nothing was restored");
  }

  @Test
  void pipe_isRefused_andNotWaitedFor() throws Exception {
    Path pipe = directory.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    assertThatThrownBy(() -> MemoryStore.builder().restore(pipe))
        .hasMessageContaining("found a folder, a pipe or a device, expected a file");
  }

  @Test
  void missing_directory_isNamed() {
    assertThatThrownBy(() -> store.save(directory.resolve("no/buckets")))
        .isInstanceOf(SnapshotException.class)
        .hasMessageContaining("for the snapshot does not exist");
  }

  @Test
  void root_isNoFileForASnapshot() {
    assertThatThrownBy(() -> store.save(Path.of("/")))
        .isInstanceOf(SnapshotException.class)
        .hasMessageStartingWith("/: the directory");
  }

  @Test
  void directoryThatGoesAwayWhileSaving_isNamed() throws Exception {
    Path here = Files.createDirectory(directory.resolve("here"));
    Path away = directory.resolve("away");
    AtomicBoolean ended = new AtomicBoolean();
    AtomicReference<Throwable> broken = new AtomicReference<>();
    Thread mover =
        new Thread(
            () -> {
              try {
                while (!ended.get()) {
                  Files.move(here, away);
                  Files.move(away, here);
                }
              } catch (IOException e) {
                broken.set(e);
              }
            });
    mover.start();
    int failures = 0;
    for (int i = 0; i < 500 || failures == 0; i++) {
      try {
        store.save(here.resolve("buckets"));
      } catch (SnapshotException e) {
        assertThat(e).hasMessageContaining("for the snapshot does not exist");
        failures++;
      }
    }
    ended.set(true);
    mover.join();
    assertThat(broken).hasNullValue();
  }

  @Test
  void saving_goesOnBesideDecisions() throws Exception {
    Path file = directory.resolve("buckets");
    Thread spender =
        new Thread(
            () -> {
              for (int i = 0; i < 300_000; i++) {
                Reading unused = charge(store, Op.SPEND, i % 100_000, 1);
              }
            });
    spender.start();
    while (spender.isAlive()) {
      store.save(file);
      assertThat(restored(file).liveBuckets().orElseThrow()).isBetween(0L, 100_000L);
    }
    spender.join();
    store.save(file);
    MemoryStore restored = restored(file);
    for (int id = 0; id < 100_000; id++) {
      assertThat(charge(restored, Op.CHECK, id, 1).tatNanos())
          .isEqualTo(nowNanos.get() + 3 * SECOND);
    }
  }
}
