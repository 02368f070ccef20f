package dev.sluice.limit;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Thrown when limits lack what {@linkplain CurrentLimits#require something asks for}, with a line
 * for each limit. For the operator.
 */
public final class MissingDefaultException extends IllegalArgumentException {

  private static final long serialVersionUID = 1;

  private final transient List<Requirement> missing;

  MissingDefaultException(List<Requirement> missing) {
    super(missing.stream().map(Requirement::message).collect(Collectors.joining("\n")));
    this.missing = List.copyOf(missing);
  }

  /**
   * Returns the requirements that are not met.
   *
   * @return at least one
   */
  public List<Requirement> missing() {
    return missing;
  }
}
