// SPDX-License-Identifier: Apache-2.0
/** Limits from files in YAML. */
// Suppresses a warning that the modules after "to" are unknown: they are built after this module.
@SuppressWarnings("module")
module dev.sluice.yaml {
  requires transitive dev.sluice;
  requires org.snakeyaml.engine;

  exports dev.sluice.yaml;
  exports dev.sluice.yaml.internal to
      dev.sluice.cli,
      dev.sluice.rules,
      dev.sluice.server;
}
