// SPDX-License-Identifier: Apache-2.0
// Checks Kubernetes manifests: required fields and the forms of values by the schemas of Kubernetes 1.27 and of the
// Prometheus Operator, unknown fields by their types. Prints each mistake, and ends with 1 if there is one.
//
//   node check.js FILE...
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { parseAllDocuments } from "yaml";

const here = dirname(fileURLToPath(import.meta.url));
let mistakes = 0;

function mistake(file, text) {
  console.error(`${file}: ${text}`);
  mistakes++;
}

const folder = mkdtempSync(join(here, "checked-"));
try {
  const sources = new Map();
  for (const file of process.argv.slice(2)) {
    for (const document of parseAllDocuments(readFileSync(file, "utf8"))) {
      document.errors.forEach((error) => mistake(file, error.message));
      const value = document.toJS();
      const models = value.apiVersion.startsWith("monitoring.coreos.com/")
        ? "@kubernetes-models/prometheus-operator"
        : "kubernetes-models";
      const module = `${models}/${value.apiVersion}/${value.kind}`;
      let model;
      try {
        model = (await import(module))[value.kind];
      } catch {
        mistake(file, `no kind ${value.kind} in ${value.apiVersion}`);
        continue;
      }
      try {
        new model(value).validate();
      } catch (error) {
        mistake(file, error.message);
      }
      const source = join(folder, `${sources.size}.ts`);
      writeFileSync(
        source,
        `import { I${value.kind} } from "${module}";\n` +
          `export const checked: I${value.kind} = ${JSON.stringify(value, null, 2)};\n`,
      );
      sources.set(source, file);
    }
  }
  const program = ts.createProgram([...sources.keys()], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    noEmit: true,
    skipLibCheck: true,
    strict: true,
    types: [],
  });
  for (const found of ts.getPreEmitDiagnostics(program)) {
    const file = sources.get(found.file?.fileName) ?? "?";
    mistake(file, ts.flattenDiagnosticMessageText(found.messageText, "\n"));
  }
} finally {
  rmSync(folder, { recursive: true });
}
process.exitCode = mistakes === 0 ? 0 : 1;
