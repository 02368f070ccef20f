// SPDX-License-Identifier: Apache-2.0
/** Limits from files in YAML. */
module dev.sluice.yaml {
  requires transitive dev.sluice;
  requires org.snakeyaml.engine;

  exports dev.sluice.yaml;
}
