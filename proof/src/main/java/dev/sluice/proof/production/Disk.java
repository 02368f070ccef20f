// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.Folder;
import dev.sluice.proof.NotTried;
import dev.sluice.proof.Programs;
import dev.sluice.proof.Server;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** A disk that can be filled and freed. */
interface Disk extends AutoCloseable {

  Folder folder();

  void fill(Server server) throws Exception;

  void free(Server server) throws Exception;

  @Override
  void close() throws Exception;

  /** Returns a disk that {@code ulimit -f} bounds. Requires no privileges. */
  static Disk limited() throws IOException {
    Folder folder = Folder.make();
    return new Disk() {
      @Override
      public Folder folder() {
        return folder;
      }

      @Override
      public void fill(Server server) throws Exception {
        bound(server, "1");
      }

      @Override
      public void free(Server server) throws Exception {
        bound(server, "unlimited");
      }

      private void bound(Server server, String bytes) throws Exception {
        String unused =
            Programs.run("prlimit", "--pid", "" + server.pid(), "--fsize=" + bytes + ":unlimited");
      }

      @Override
      public void close() throws Exception {
        folder.close();
      }
    };
  }

  /** Returns a file system of 1 MB in memory. Requires the privilege to mount. */
  static Disk mounted() throws Exception {
    Folder folder = Folder.make();
    String path = folder.path().toString();
    if (!Programs.works("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", path)) {
      folder.close();
      throw new NotTried("this process has no privilege to mount");
    }
    Path filler = folder.path().resolve("filler");
    return new Disk() {
      @Override
      public Folder folder() {
        return folder;
      }

      @Override
      public void fill(Server server) throws IOException {
        try (OutputStream out = Files.newOutputStream(filler)) {
          while (true) {
            out.write(0);
          }
        } catch (IOException e) {
          // The disk is full to the last byte.
        }
      }

      @Override
      public void free(Server server) throws IOException {
        Files.delete(filler);
      }

      @Override
      public void close() throws Exception {
        String unused = Programs.run("umount", path);
        folder.close();
      }
    };
  }
}
