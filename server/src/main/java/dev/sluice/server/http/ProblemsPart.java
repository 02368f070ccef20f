// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.server.ServerBuilder;
import dev.sluice.server.net.Decorators;
import dev.sluice.server.net.Part;

/** Answers whatever goes wrong as a problem, on a port without the HTTP API. Stateless. */
public final class ProblemsPart implements Part {

  /** Makes the part. */
  public ProblemsPart() {}

  @Override
  public void addTo(ServerBuilder server) {
    server.errorHandler(new Failures());
  }

  @Override
  public void addFirst(Decorators decorators) {
    decorators.add(new EarlyAnswers(new Failures()));
  }
}
