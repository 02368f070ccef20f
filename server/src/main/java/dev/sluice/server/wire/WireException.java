package dev.sluice.server.wire;

import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.UnknownLimitException;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A request that can not be decided as it is written: what was found, what was expected, and in
 * which field. Nothing was charged.
 */
public final class WireException extends IllegalArgumentException {

  private static final long serialVersionUID = 1;

  private final @Nullable String field;
  private final boolean unknownLimit;

  private WireException(@Nullable String field, String message, boolean unknownLimit) {
    super(message);
    this.field = field;
    this.unknownLimit = unknownLimit;
  }

  /**
   * Makes an exception.
   *
   * @param field the path of the field that is wrong, null where it is not one field
   * @param message what was found, what was expected
   */
  public WireException(@Nullable String field, String message) {
    this(field, message, false);
  }

  /**
   * What the limiter refused, as a fault of the text that it came from.
   *
   * @param refused what the limiter threw
   * @param path where the transaction stands in the request: empty, or {@code transactions[2].}
   * @return the exception, with the path of the field
   */
  public static WireException of(InvalidRequestException refused, String path) {
    String name = refused.field().name().toLowerCase(Locale.ROOT);
    String message = String.valueOf(refused.getMessage());
    return new WireException(path + name, message, refused instanceof UnknownLimitException);
  }

  /**
   * The field that is wrong.
   *
   * @return its path, {@code transactions[2].cost}; null where the text is no JSON object at all
   */
  public @Nullable String field() {
    return field;
  }

  /**
   * Whether the fault is a limit that does not exist.
   *
   * @return false for every other fault
   */
  public boolean unknownLimit() {
    return unknownLimit;
  }
}
