import type { ContractStage } from './contract-stage';

export async function otherEvents(stage: ContractStage): Promise<void> {
  const { recorder } = stage.tester;
  const type = 'contract_something_else';
  const caused = await stage.causedBy(() =>
    // Without a payload: a channel looks at the type before it looks at anything else.
    recorder
      .transaction((tx) => recorder.record(tx, { type }))
      .catch((error: unknown) => {
        stage.broken(
          `threw from deliveries() for an event of another type (${nameOf(error)}), so that nobody can record it. Return [].`,
        );
      }),
  );
  if (caused.length > 0) {
    stage.broken(
      `made ${caused.length} deliveries of an event of type "${type}". Return [] for every type that it does not know.`,
    );
  }
}

export async function records(stage: ContractStage): Promise<void> {
  await stage.delivery();
}

export async function rollsBack(stage: ContractStage): Promise<void> {
  const { dataSource } = stage.tester;
  const caused = await stage.causedBy(async () => {
    const runner = dataSource.createQueryRunner();
    try {
      await runner.startTransaction();
      await stage.subject.record(runner.manager, stage.tester);
      await runner.rollbackTransaction();
    } finally {
      await runner.release();
    }
  });
  if (caused.length > 0) {
    stage.broken(
      'left a delivery of a transaction that was rolled back. Record with the tx that record() is given, and with no other.',
    );
  }
}

export async function noSecrets(stage: ContractStage): Promise<void> {
  const { id } = await stage.delivery();
  const all = await stage.tester.recorded(stage.subject.channel, { id });
  const stored = JSON.stringify(all);
  const secrets = stage.subject.secrets ?? [];
  const found = secrets.findIndex((secret) => stored.includes(JSON.stringify(secret).slice(1, -1)));
  if (found >= 0) {
    stage.broken(
      `stored number ${found + 1} of the secrets with a delivery or its event. Record an id, and read the secret in send().`,
    );
  }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.constructor.name : typeof error);
