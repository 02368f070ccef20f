/** What an HTTP response says of a decision: header values and a problem body, as pure strings. */
@NullMarked
@CheckReturnValue
package dev.sluice.http;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
