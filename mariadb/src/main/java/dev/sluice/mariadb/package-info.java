// SPDX-License-Identifier: Apache-2.0
/** Buckets in MariaDB. */
@NullMarked
@CheckReturnValue
package dev.sluice.mariadb;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
