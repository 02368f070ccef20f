// SPDX-License-Identifier: Apache-2.0
package kotlinx.coroutines.flow;

/** Has the name of Kotlin's type, which is not on the class path of these tests. */
public interface Flow<T> {}
