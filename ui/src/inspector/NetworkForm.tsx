/** Preferences: the network, how it runs, and MiniEdit's settings. */
import type { DocumentPreferences } from "../protocol";
import { useDocument } from "../stores/document";
import { edit } from "../stores/edits";
import { Choice, FieldProblems, Flag, Section, TextField } from "./Field";
import { useProblemsOf } from "../editor/problems";
import { wholeOrText } from "./options";
import * as units from "./units";

function set(title: string, preferences: Partial<DocumentPreferences>): void {
  void edit(`Set ${title}`, { preferences });
}

type Words = Readonly<Record<string, unknown>>;

export function NetworkForm({ isDialog = false }: { isDialog?: boolean }) {
  const preferences = useDocument((state) => state.preferences);
  const problems = useProblemsOf("");
  const application = preferences.application as Words;
  const setApplication = (title: string, words: Words) => set(title, { application: { ...application, ...words } });
  const part = (key: string) => (application[key] ?? {}) as Words;
  const text = (key: string, word: string) => String(part(key)[word] ?? "");
  const setPart = (title: string, key: string, word: string, value: string) =>
    setApplication(title, { [key]: { ...part(key), [word]: value } });
  const isOn = (value: unknown) => String(value) === "1";
  const digit = (value: boolean) => (value ? "1" : "0");
  const isVirtual = preferences.clock === "virtual";
  return (
    <FieldProblems value={problems}>
      <div className={isDialog ? "inspector-form preferences" : "inspector-form"}>
        <TextField
          field="preferences.ip_base"
          title="IP base"
          value={preferences.ip_base}
          check={units.network4}
          hint="hosts without an address get one from this network"
          onChange={(ip_base) => set("IP base", { ip_base })}
        />
        <TextField
          field="preferences.name"
          title="Network name"
          value={preferences.name}
          placeholder="none"
          onChange={(name) => set("network name", { name })}
        />
        <div className="pairs">
          <Choice
            field="preferences.clock"
            title="Clock"
            value={preferences.clock}
            choices={[
              ["virtual", "virtual"],
              ["real", "real"],
            ]}
            onChange={(clock) => set("clock", { clock: clock as DocumentPreferences["clock"] })}
          />
          <Choice
            field="preferences.pace"
            title="Pace"
            value={preferences.pace}
            isDisabled={!isVirtual}
            choices={[
              ["real", "real time"],
              ["fast", "as fast as possible"],
            ]}
            onChange={(pace) => set("pace", { pace: pace as DocumentPreferences["pace"] })}
          />
          <Choice
            field="preferences.wire"
            title="Wire"
            value={preferences.wire}
            choices={[
              ["mtu", "mtu (real)"],
              ["gso", "gso (faster)"],
            ]}
            hint={
              preferences.wire === "mtu" ? "single packets, as on a real wire" : "packets of up to 64 KB, as in Mininet"
            }
            onChange={(wire) => set("wire", { wire: wire as DocumentPreferences["wire"] })}
          />
          <TextField
            field="preferences.seed"
            title="Seed"
            value={String(preferences.seed)}
            check={units.whole(0, 2 ** 31 - 1)}
            onChange={(seed) => {
              const number = wholeOrText(seed);
              if (typeof number === "number") set("seed", { seed: number });
            }}
          />
        </div>
        <Flag
          field="preferences.application.startCLI"
          title="Start CLI"
          value={isOn(application.startCLI)}
          hint="open the mininet> prompt when the network has started"
          onChange={(value) => setApplication("start CLI", { startCLI: digit(value) })}
        />
        <Section title="MiniEdit" isOpen={isDialog}>
          <div className="pairs">
            <Choice
              field="preferences.application.terminalType"
              title="Default terminal"
              value={String(application.terminalType ?? "xterm")}
              choices={[
                ["xterm", "xterm"],
                ["gterm", "gterm"],
              ]}
              hint="used by MiniEdit only"
              onChange={(word) => setApplication("default terminal", { terminalType: word })}
            />
            <Choice
              field="preferences.application.switchType"
              title="Default switch"
              value={String(application.switchType ?? "ovs")}
              choices={[
                ["ovs", "Open vSwitch kernel mode"],
                ["ivs", "Indigo virtual switch"],
                ["user", "User-space switch"],
                ["userns", "User-space switch in namespace"],
              ]}
              onChange={(word) => setApplication("default switch", { switchType: word })}
            />
            <TextField
              field="preferences.application.dpctl"
              alias={["preferences.dpctl"]}
              title="dpctl port"
              value={String(application.dpctl ?? "")}
              placeholder="none"
              check={units.whole(1, 65535)}
              onChange={(port) => setApplication("dpctl port", { dpctl: port })}
            />
          </div>
        </Section>
        <Section title="Open vSwitch" isOpen={isDialog}>
          <div className="pairs">
            {["10", "11", "12", "13"].map((version) => (
              <Flag
                key={version}
                field={`preferences.application.openFlowVersions.ovsOf${version}`}
                title={`OpenFlow ${version[0]}.${version[1]}`}
                value={isOn(part("openFlowVersions")[`ovsOf${version}`])}
                onChange={(value) => setPart("OpenFlow versions", "openFlowVersions", `ovsOf${version}`, digit(value))}
              />
            ))}
          </div>
        </Section>
        <Section title="sFlow" isOpen={text("sflow", "sflowTarget") !== ""}>
          <div className="pairs">
            {(
              [
                ["sflowTarget", "Target", "127.0.0.1:6343", units.target],
                ["sflowSampling", "Sampling", "400", units.whole(1, 1_000_000_000)],
                ["sflowHeader", "Header (bytes)", "128", units.whole(1, 65535)],
                ["sflowPolling", "Polling (s)", "30", units.whole(1, 1_000_000)],
              ] as const
            ).map(([word, title, placeholder, check]) => (
              <TextField
                key={word}
                field={`preferences.application.sflow.${word}`}
                title={title}
                value={text("sflow", word)}
                placeholder={placeholder}
                check={check}
                onChange={(value) => setPart(`sFlow ${title.toLowerCase()}`, "sflow", word, value)}
              />
            ))}
          </div>
        </Section>
        <Section title="NetFlow" isOpen={text("netflow", "nflowTarget") !== ""}>
          <div className="pairs">
            {(
              [
                ["nflowTarget", "Target", "127.0.0.1:9996", units.target],
                ["nflowTimeout", "Active timeout (s)", "600", units.whole(1, 1_000_000)],
              ] as const
            ).map(([word, title, placeholder, check]) => (
              <TextField
                key={word}
                field={`preferences.application.netflow.${word}`}
                title={title}
                value={text("netflow", word)}
                placeholder={placeholder}
                check={check}
                onChange={(value) => setPart(`NetFlow ${title.toLowerCase()}`, "netflow", word, value)}
              />
            ))}
          </div>
          <Flag
            field="preferences.application.netflow.nflowAddId"
            title="Add ID to interface"
            value={isOn(part("netflow").nflowAddId)}
            onChange={(value) => setPart("NetFlow ID", "netflow", "nflowAddId", digit(value))}
          />
        </Section>
      </div>
    </FieldProblems>
  );
}
