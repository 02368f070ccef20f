// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import java.time.Instant;

/** Counts reloads. */
interface ReloadMeters {

  void loaded(Instant at);

  void failed(int mistakes);

  void broke();
}
