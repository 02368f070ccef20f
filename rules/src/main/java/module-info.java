// SPDX-License-Identifier: Apache-2.0
/**
 * The rule book, which is read from a file and defines from which limits a request or descriptor
 * spends.
 */
module dev.sluice.rules {
  requires transitive dev.sluice.web;
  requires transitive dev.sluice.yaml;
  requires static dev.sluice.acme; // only the conversion of files needs this module

  exports dev.sluice.rules;
  exports dev.sluice.rules.convert;
}
