// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/*
 * The following accesses count as steps. The scheduler can stop a thread before
 *
 *   - every call of a VarHandle, an atomic or another class of java.util.concurrent,
 *   - every read and write of an array element or of a field that is not final, in classes whose
 *     objects are shared.
 *
 * Calls that wait (onSpinWait, yield, timed parks) and locks are replaced by calls of the
 * simulator. Monitors, untimed parks and sleeps cannot be simulated. The class loader rejects a
 * class with a monitor, an untimed park or a sleep. To simulate such a class, extend Instrumenter
 * first.
 *
 * All accesses of all threads happen in one global order. The Java memory model also allows other
 * behaviour, such as a plain read that the compiler moves, or a release store that becomes visible
 * late. The simulation covers no reordering of memory accesses.
 */

/**
 * Inserts a call of {@link Steps} before each access of a class to shared memory. Only one thread
 * can use an instrumenter.
 */
final class Instrumenter {

  private static final String STEPS = Type.getInternalName(Steps.class);
  private static final String LOCK = "java/util/concurrent/locks/ReentrantLock";
  private static final Map<String, String> LOCK_CALLS =
      Map.of(
          "lock()V", "(L" + LOCK + ";I)V",
          "unlock()V", "(L" + LOCK + ";I)V",
          "tryLock()Z", "(L" + LOCK + ";I)Z");

  /**
   * Classes whose objects are used by only one thread, so accesses to their fields and arrays are
   * not steps.
   */
  private static final Set<String> CONFINED =
      Set.of("TableBatch", "TableBuckets", "Snapshot", "BucketStore");

  private final Sites sites;

  Instrumenter(Sites sites) {
    this.sites = sites;
  }

  byte[] instrument(byte[] classFile) {
    ClassReader reader = new ClassReader(classFile);
    Set<String> finals = finalFields(reader);
    ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
    String name = reader.getClassName();
    String simple = name.substring(name.lastIndexOf('/') + 1).replaceFirst("\\$.*", "");
    boolean constants = "java/lang/Enum".equals(reader.getSuperName());
    boolean shared = !CONFINED.contains(simple) && !constants;
    reader.accept(
        new ClassVisitor(Opcodes.ASM9, writer) {
          @Override
          public MethodVisitor visitMethod(
              int access,
              String method,
              String descriptor,
              @Nullable String signature,
              String @Nullable [] exceptions) {
            MethodVisitor out =
                super.visitMethod(access, method, descriptor, signature, exceptions);
            if ((access & Opcodes.ACC_SYNCHRONIZED) != 0) {
              throw unsupported(simple, method, 0, "a synchronized method");
            }
            return method.equals("<clinit>")
                ? out
                : new Method(out, simple, method, shared, finals);
          }
        },
        0);
    return writer.toByteArray();
  }

  private static Set<String> finalFields(ClassReader reader) {
    Set<String> finals = new HashSet<>();
    reader.accept(
        new ClassVisitor(Opcodes.ASM9) {
          @Override
          public @Nullable FieldVisitor visitField(
              int access,
              String field,
              String descriptor,
              @Nullable String signature,
              @Nullable Object value) {
            if ((access & Opcodes.ACC_FINAL) != 0) {
              finals.add(field);
            }
            return null;
          }
        },
        ClassReader.SKIP_CODE);
    return finals;
  }

  private static IllegalStateException unsupported(
      String type, String method, int line, String what) {
    return new IllegalStateException(
        "%s.%s:%s: %s cannot be simulated; extend Instrumenter and Steps to replace it"
            .formatted(type, method, line, what));
  }

  private final class Method extends MethodVisitor {
    private final String type;
    private final String method;
    private final boolean shared;
    private final Set<String> finals;
    private int line;

    Method(MethodVisitor out, String type, String method, boolean shared, Set<String> finals) {
      super(Opcodes.ASM9, out);
      this.type = type;
      this.method = method;
      this.shared = shared;
      this.finals = finals;
    }

    @Override
    public void visitLineNumber(int number, Label start) {
      line = number;
      super.visitLineNumber(number, start);
    }

    private void site(String what) {
      super.visitLdcInsn(sites.add("%s.%s:%s %s".formatted(type, method, line, what)));
    }

    private void replace(String name, String descriptor, String what) {
      site(what);
      super.visitMethodInsn(Opcodes.INVOKESTATIC, STEPS, name, descriptor, false);
    }

    private void step(String what) {
      replace("step", "(I)V", what);
    }

    @Override
    public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
      boolean write = opcode == Opcodes.PUTFIELD || opcode == Opcodes.PUTSTATIC;
      boolean own = owner.substring(owner.lastIndexOf('/') + 1).equals(type);
      if (shared && own && !finals.contains(name) && !method.equals("<init>")) {
        step((write ? "write " : "read ") + name);
      }
      super.visitFieldInsn(opcode, owner, name, descriptor);
    }

    @Override
    public void visitInsn(int opcode) {
      if (opcode == Opcodes.MONITORENTER) {
        throw unsupported(type, method, line, "a synchronized block");
      }
      if (shared && opcode >= Opcodes.IALOAD && opcode <= Opcodes.SALOAD) {
        step("read an element");
      } else if (shared && opcode >= Opcodes.IASTORE && opcode <= Opcodes.SASTORE) {
        step("write an element");
      }
      super.visitInsn(opcode);
    }

    @Override
    public void visitMethodInsn(
        int opcode, String owner, String name, String descriptor, boolean isInterface) {
      boolean constructor = name.equals("<init>");
      if (owner.equals("java/lang/Thread") && (name.equals("yield") || name.equals("onSpinWait"))) {
        replace("giveWay", "(I)V", name);
        return;
      }
      if (owner.equals("java/util/concurrent/locks/LockSupport") && name.equals("parkNanos")) {
        if (!descriptor.equals("(J)V")) {
          throw unsupported(type, method, line, "parkNanos with a blocker");
        }
        replace("parkNanos", "(JI)V", name);
        return;
      }
      if (owner.equals(LOCK) && !constructor) {
        String replacement = LOCK_CALLS.get(name + descriptor);
        if (replacement == null) {
          throw unsupported(type, method, line, "ReentrantLock." + name);
        }
        replace(name, replacement, name);
        return;
      }
      boolean waits =
          owner.startsWith("java/util/concurrent/locks/")
              || (owner.equals("java/lang/Thread") && name.equals("sleep"))
              || (owner.equals("java/lang/Object") && name.startsWith("wait"));
      if (waits && !constructor) {
        throw unsupported(type, method, line, owner + "." + name);
      }
      boolean access =
          shared
              && (owner.equals("java/lang/invoke/VarHandle")
                  || owner.startsWith("java/util/concurrent/"));
      if (access && !constructor) {
        step(name);
      }
      super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
    }
  }

  /**
   * The numbered code locations at which the scheduler can stop a thread. Only one thread can use
   * this object.
   */
  static final class Sites {

    private final List<String> names = new ArrayList<>();
    private int[] hashes = new int[256];

    int add(String name) {
      int site = names.size();
      names.add(name);
      hashes = site < hashes.length ? hashes : Arrays.copyOf(hashes, 2 * hashes.length);
      hashes[site] = name.hashCode();
      return site;
    }

    /**
     * Returns a hash of a code location. Unlike the number of the location, the hash does not
     * depend on the order in which classes are loaded.
     */
    int hash(int site) {
      return site < 0 ? 0 : hashes[site];
    }

    /** Describes a place in the code by class, method, line and kind of access. */
    String name(int site) {
      return site < 0 ? "its start" : names.get(site);
    }
  }
}
